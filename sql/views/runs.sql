-- What did background work do, and what did it cost?
create view runs as
select id,                                  -- number of the run
       kind,                                -- index
       state,                               -- running, done, stopped, failed
       started_at,                          -- UTC
       finished_at,                         -- UTC; null while it runs
       model,                               -- that was asked
       done,                                -- texts that were read
       skipped,                             -- texts that no model reads
       failed,                              -- texts that could not be read
       calls,                               -- to the model
       input_tokens,                        -- that the endpoint counted
       output_tokens,                       -- that the endpoint counted
       cost,                                -- null: the price is not known
       message                              -- how it ended
from run;
