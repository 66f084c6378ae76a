-- How were conflicts settled, and what follows from each decision that stands, pair by pair?
create view resolutions as
select decision.id as decision,             -- its id, for `memdb conflicts revert`
       resolution.conflict,                 -- id of the conflict
       resolution.kind,                     -- relation, memories
       resolution.choice,                   -- keep-new, keep-existing, keep, keep-both, merge
       resolution.subject,                  -- of a relation: the entity, by its first name key
       resolution.predicate,                -- of a relation
       resolution_pair.kept,                -- first name key of an entity, or id of a memory
       resolution_pair.other,               -- likewise
       resolution_pair.effect,              -- retires: a relation stands no more; replaces: a memory is demoted; distinct; merges
       resolution_pair.counts,              -- 0: a later decision about the two says something else
       decision.at,                         -- when, in UTC
       decision.by,                         -- who
       decision.why                         -- the reason that was given
from resolution
join decision on decision.ref = resolution.ref
left join resolution_pair on resolution_pair.ref = resolution.ref;
