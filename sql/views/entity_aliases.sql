-- Which other names mean an entity, and who says so?
create view entity_aliases as
select entity_alias.name,                   -- as written
       node.key as entity,                  -- entity:name key
       entity_alias.made_by                 -- memory: a file's aliases; rename, merge: a person
from entity_alias
join entity on entity.name_key = entity_alias.entity_key
join node on node.id = entity.id;
