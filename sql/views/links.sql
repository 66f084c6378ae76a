-- What links are written, and where do they lead?
create view links as
select source.key as source,                -- type/name of the memory that has it
       link.kind,                           -- wikilink, supersedes
       link.raw,                            -- as written
       link.heading,                        -- behind # in the link
       link.line,                           -- of the file
       link.status,                         -- resolved, unresolved, ambiguous, self
       link.how,                            -- exact, type order, alias, folded
       target.key as target                 -- type/name; null where it leads nowhere
from link
join node as source on source.id = link.memory_id
left join node as target on target.id = link.target_id;
