-- What happened in each run, text by text?
create view run_events as
select run_id as run,
       at,
       node as source,                      -- id of the memory or chunk
       kind,                                -- indexed, replayed, skipped, failed, dropped, held
       message
from run_event;
