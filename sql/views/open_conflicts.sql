-- What contradicts what? One row for each side: all of them stand until someone decides.
create view open_conflicts as
select conflict.key as conflict,            -- id: short, and the same on every machine
       conflict.kind,                       -- relation: one subject has several objects; memories: they say different things
       conflict.origin,                     -- model, rules: what found it
       subject_node.key as subject,         -- of a relation: id of the entity
       subject.name as subject_name,        -- what it is called
       conflict.predicate,                  -- of a relation
       coalesce(object_node.key, text.key) as object, -- id of the entity, or of a memory
       coalesce(object.name, text.label) as object_name, -- what it is called
       max(conflict_side.confidence) as confidence, -- 0 to 1, of the surest text; null where rules compared memories
       json_group_object(text.key, conflict_side.confidence) as sources, -- JSON: confidence by id of the text
       min(conflict_side.quote) as quote    -- what a memory says, secrets redacted
from conflict
join conflict_side on conflict_side.conflict_key = conflict.key
join node as text on text.id = conflict_side.node_id
left join entity as subject on subject.id = conflict.subject_id
left join node as subject_node on subject_node.id = conflict.subject_id
left join entity as object on object.id = conflict_side.object_id
left join node as object_node on object_node.id = conflict_side.object_id
group by conflict.key, coalesce(conflict_side.object_id, -conflict_side.node_id);
