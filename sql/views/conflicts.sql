-- Which conflicts are there, and which were there and settled?
create view conflicts as
select key as conflict,                     -- id: short, and the same on every machine
       kind,                                -- relation, memories
       'open' as state,                     -- open, settled
       (select json_group_array(object) from (
            select distinct coalesce(object.key, text.key) as object
            from conflict_side
            join node as text on text.id = conflict_side.node_id
            left join node as object on object.id = conflict_side.object_id
            where conflict_key = conflict.key order by 1)) as sides, -- JSON list of ids: entities, or memories
       null as choice,                      -- how it was settled last
       null as decision                     -- id of that decision; `decisions` says by whom, when and why
from conflict
union all
select settled.conflict, settled.kind, 'settled',
       (select json_group_array(side) from (
            select kept as side from resolution_pair where resolution_pair.ref = settled.ref
            union select other from resolution_pair where resolution_pair.ref = settled.ref order by 1)),
       settled.choice, decision.id
from resolution as settled
join decision on decision.ref = settled.ref
where not exists (select 1 from conflict where conflict.key = settled.conflict)
  and not exists (
      select 1 from resolution as later where later.conflict = settled.conflict and later.ref > settled.ref);
