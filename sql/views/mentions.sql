-- Which text mentions which entity, and how is that known? Names that make no edge are in mentions_all alone.
create view mentions as
select text.key as source,                  -- id of the memory or chunk
       node.key as entity,                  -- entity:name key
       mention.name,                        -- as written
       mention.type,                        -- as this text has it
       mention.origin,                      -- model, rules, names
       mention.source as found_as,          -- answer, identifier, proper, known, subject
       mention.about                        -- 1: the text bears the name itself
from mention
join node as text on text.id = mention.node_id
join entity on entity.name_key = mention.name_key
join node on node.id = entity.id
where exists (select 1 from edge
              where edge.src = mention.node_id and edge.dst = entity.id and edge.kind in ('mentions', 'about') and edge.active)
  and (mention.type is null or exists (
      select 1 from vocabulary
      where vocabulary.kind = 'type' and vocabulary.name_key = mention.type
        and (not mention.refused or vocabulary.state = 'active')))
union all
-- By another name of the entity.
select text.key, node.key, mention.name, mention.type, mention.origin, mention.source, mention.about
from mention
join node as text on text.id = mention.node_id
join entity_alias on entity_alias.name_key = mention.name_key
join entity on entity.name_key = entity_alias.entity_key
join node on node.id = entity.id
where exists (select 1 from edge
              where edge.src = mention.node_id and edge.dst = entity.id and edge.kind in ('mentions', 'about') and edge.active)
  and (mention.type is null or exists (
      select 1 from vocabulary
      where vocabulary.kind = 'type' and vocabulary.name_key = mention.type
        and (not mention.refused or vocabulary.state = 'active')));
