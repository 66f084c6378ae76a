-- Where do texts contradict one another? One row for each side: all of them stand until someone decides.
create view open_conflicts as
select conflict.key as conflict,
       subject_node.key as subject,
       subject.name as subject_name,
       conflict.predicate,
       object_node.key as object,
       object.name as object_name,
       max(conflict_side.confidence) as confidence, -- 0 to 1, of the surest text
       json_group_object(text.key, conflict_side.confidence) as sources -- JSON: confidence by id of the text
from conflict
join conflict_side on conflict_side.conflict_key = conflict.key
join entity as subject on subject.id = conflict.subject_id
join node as subject_node on subject_node.id = conflict.subject_id
join entity as object on object.id = conflict_side.object_id
join node as object_node on object_node.id = conflict_side.object_id
join node as text on text.id = conflict_side.node_id
group by conflict.key, conflict_side.object_id;
