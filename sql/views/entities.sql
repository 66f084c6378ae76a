-- Which entities do the texts mention, of which type, and how often?
create view entities as
select node.key as id,                      -- entity:name key
       entity.name,                         -- what it is called
       entity.type,                         -- null: not sure
       entity.origin,                       -- the surest evidence: model, rules, names
       (select count(*) from edge
        where edge.dst = entity.id and edge.kind in ('mentions', 'about') and edge.active) as mentions, -- texts
       (select count(*) from edge join memory on memory.id = edge.src
        where edge.dst = entity.id and edge.kind in ('mentions', 'about') and edge.active) as memories, -- that mention it
       (select count(distinct chunk.document_id) from edge join chunk on chunk.id = edge.src
        where edge.dst = entity.id and edge.kind in ('mentions', 'about') and edge.active) as documents, -- that mention it
       (select count(*) from edge
        where edge.src = entity.id and edge.kind = 'relates' and edge.active)
       + (select count(*) from edge
          where edge.dst = entity.id and edge.kind = 'relates' and edge.active) as relations, -- from it and to it
       (select json_group_array(name) from (
            select name from entity_alias where entity_alias.entity_key = entity.name_key order by name)) as aliases, -- JSON list
       (select json_group_array(what) from (
            select 'name' as what from entity_decision where entity_key = entity.name_key and part_of is null and name is not null
            union select 'type' from entity_decision
                where entity_key = entity.name_key and part_of is null and entity_decision.type = entity.type
            union select 'merge' from entity_decision where entity_key = entity.name_key and part_of is not null
            order by what)) as decided -- JSON list: what of it a person decided: merge, name, type
from entity
join node on node.id = entity.id;
