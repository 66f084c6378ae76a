-- How are entities related, and which texts say so?
create view relations as
select subject_node.key as subject,         -- entity:name key
       edge.predicate,                      -- of the vocabulary
       object_node.key as object,           -- entity:name key
       (select max(statement.confidence) from statement
        where statement.predicate = edge.predicate
          and (not statement.refused or vocabulary.state = 'active')
          and statement.subject_key in (
              select subject.name_key union all select name_key from entity_alias where entity_key = subject.name_key)
          and statement.object_key in (
              select object.name_key union all select name_key from entity_alias where entity_key = object.name_key)
       ) as confidence,                     -- 0 to 1, of the surest text
       (select json_group_array(key) from (
            select text.key from statement join node as text on text.id = statement.node_id
            where statement.predicate = edge.predicate
              and statement.confidence >= 0.7
              and (not statement.refused or vocabulary.state = 'active')
              and statement.subject_key in (
                  select subject.name_key union all select name_key from entity_alias where entity_key = subject.name_key)
              and statement.object_key in (
                  select object.name_key union all select name_key from entity_alias where entity_key = object.name_key)
            group by text.key order by text.key)) as sources -- JSON list of ids: the texts that say so surely enough
from edge
join entity as subject on subject.id = edge.src
join entity as object on object.id = edge.dst
join node as subject_node on subject_node.id = edge.src
join node as object_node on object_node.id = edge.dst
join vocabulary on vocabulary.kind = 'predicate' and vocabulary.name_key = edge.predicate
where edge.kind = 'relates' and edge.active;
