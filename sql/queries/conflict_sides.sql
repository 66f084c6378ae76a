-- Which objects do texts give an entity by each single-valued predicate, and how surely? Replaced memories do not count.
select edge.predicate, edge.dst as object_id, object.name_key as object_key, statement.node_id,
       max(statement.confidence) as confidence, min(statement.origin) as origin
from edge
join vocabulary on vocabulary.kind = 'predicate' and vocabulary.name_key = edge.predicate and vocabulary.single_valued
join entity as subject on subject.id = edge.src
join entity as object on object.id = edge.dst
join statement on statement.predicate = edge.predicate
    and statement.subject_key in (
        select subject.name_key
        union all select name_key from entity_alias where entity_key = subject.name_key)
    and statement.object_key in (
        select object.name_key
        union all select name_key from entity_alias where entity_key = object.name_key)
where edge.src = :subject
  and edge.kind = 'relates'
  and edge.active
  and statement.confidence >= :confidence
  and (not statement.refused or vocabulary.state = 'active')
  and not exists (
      select 1 from edge as newer
      where newer.dst = statement.node_id and newer.kind in ('supersedes', 'replaces') and newer.active)
group by edge.predicate, edge.dst, statement.node_id;
