-- What did background work do, and what did it cost?
create view runs as
select id, kind, state, started_at, finished_at, model, done, skipped, failed, calls, input_tokens, output_tokens,
       cost,                                -- null: the price is not known
       message
from run;
