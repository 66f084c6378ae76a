-- What links are written, and where do they lead?
create view links as
select source.key as source,
       link.kind,                           -- wikilink, supersedes
       link.raw,                            -- as written
       link.heading,
       link.line,                           -- of the file
       link.status,                         -- resolved, unresolved, ambiguous, self
       link.how,                            -- exact, type order, alias, folded
       target.key as target
from link
join node as source on source.id = link.memory_id
left join node as target on target.id = link.target_id;
