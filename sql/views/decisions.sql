-- What did people decide, and what became of it?
create view decisions as
select decision.id,                         -- what undo takes
       decision.at,                         -- when, in UTC
       decision.by,                         -- who
       decision.action,                     -- rename, merge, …; of the vocabulary add, disable, …
       decision.subject,                    -- entity:…, type:…, predicate:…, conflict:…
       decision.detail,                     -- JSON: what goes with the action
       decision.why,                        -- as whoever decided gave it
       decision.state,                      -- standing, held, undone
       decision.reason,                     -- why it is held
       decision.state = 'standing' and decision.subject like 'entity:%' and not exists (
           select 1 from entity_decision
           where entity_decision.anchor = substr(decision.subject, 8)
             and (exists (select 1 from entity where entity.name_key = entity_decision.entity_key)
                  or entity_decision.deleted and (
                      exists (select 1 from spelling where spelling.name_key = entity_decision.entity_key)
                      or exists (select 1 from entity_alias
                                 join spelling on spelling.name_key = entity_alias.name_key
                                 where entity_alias.entity_key = entity_decision.entity_key))))
         and not exists (select 1 from entity where entity.name_key = substr(decision.subject, 8))
         as waiting,                        -- 1: no text mentions what it is about; it takes effect once one does
       (select json_group_array(other.id) from json_each(decision.contradicts)
        join decision as other on other.ref = json_each.value) as contradicts, -- JSON list of ids: decided otherwise elsewhere
       decision.writer,                     -- the machine that journaled it
       decision.ref                         -- time/writer of the journal record
from decision;
