-- How are entities related, and which texts say so?
create view relations as
select subject.key as subject,
       edge.predicate,
       object.key as object,
       max(statement.confidence) as confidence, -- 0 to 1, of the surest text
       json_group_array(distinct text.key) as sources -- JSON list of ids
from edge
join node as subject on subject.id = edge.src
join node as object on object.id = edge.dst
join entity as a on a.id = edge.src
join entity as b on b.id = edge.dst
join (select name_key as entity_key, name_key from entity
      union all select entity_key, name_key from entity_alias) as said on said.entity_key = a.name_key
join statement on statement.subject_key = said.name_key and statement.predicate = edge.predicate
    and statement.object_key in (
        select b.name_key union all select entity_alias.name_key from entity_alias where entity_alias.entity_key = b.name_key)
join node as text on text.id = statement.node_id
where edge.kind = 'relates' and edge.active
group by edge.id;
