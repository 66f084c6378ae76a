-- What happened in each run, text by text?
create view run_events as
select run_id as run,                       -- number of the run
       at,                                  -- UTC
       node as source,                      -- id of the memory or chunk
       kind,                                -- indexed, replayed, skipped, failed, dropped, held
       message                              -- in a sentence
from run_event;
