-- Which entities did people delete, and how many texts mention them all the same?
create view entities_deleted as
with gone as materialized (
    select anchor, entity_key, name, type,
           (select min(ref) from decision
            where subject = 'entity:' || anchor and action = 'delete' and state = 'standing') as ref
    from entity_decision where deleted),
said as materialized (
    select distinct entity_key, node_id from (
        select entity_key, entity_key as name_key from gone
        union select entity_key, entity_alias.name_key from gone join entity_alias using (entity_key))
    join mention using (name_key))
select 'entity:' || gone.entity_key as id,  -- entity:name key
       coalesce(gone.name, json_extract(decision.detail, '$.label'), gone.anchor) as name, -- what it was called
       gone.type,                           -- as a person decided it; null where none did
       'user' as origin,                    -- who says so
       (select count(*) from said where said.entity_key = gone.entity_key) as mentions, -- texts
       (select count(*) from said join memory on memory.id = said.node_id
        where said.entity_key = gone.entity_key) as memories, -- that mention it
       (select count(distinct chunk.document_id) from said join chunk on chunk.id = said.node_id
        where said.entity_key = gone.entity_key) as documents, -- that mention it
       0 as relations,                      -- none are derived of it
       (select json_group_array(name) from (
            select name from entity_alias where entity_alias.entity_key = gone.entity_key order by name)) as aliases, -- JSON list
       decision.id as decision,             -- undo takes it back
       decision.at,                         -- when, in UTC
       decision.by,                         -- who
       decision.why                         -- as whoever deleted it gave it
from gone
join decision on decision.ref = gone.ref;
