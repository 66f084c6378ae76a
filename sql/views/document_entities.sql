-- Which entities does each document mention, and in how many of its chunks?
create view document_entities as
select document_node.key as document,       -- document:path
       node.key as entity,                  -- entity:name key
       entity.name,                         -- of the entity
       entity.type,                         -- of the entity; null: not sure
       count(*) as chunks,                   -- that mention it
       round(1.0 * count(*)
             / (select count(*) from chunk as every where every.document_id = chunk.document_id), 4) as weight -- their share
from chunk
join edge on edge.src = chunk.id and edge.kind in ('mentions', 'about') and edge.active
join entity on entity.id = edge.dst
join node on node.id = entity.id
join node as document_node on document_node.id = chunk.document_id
group by document_node.key, node.key, entity.name, entity.type, chunk.document_id;
