-- Which links lead nowhere, or could lead to several memories?
create view unresolved_links as
select source.key as source,                -- type/name of the memory that has it
       link.raw,                            -- as written
       link.target,                         -- what the link names
       link.line,                           -- of the file
       link.status,                         -- unresolved, ambiguous
       link.candidates                      -- JSON list of ids, where ambiguous
from link
join node as source on source.id = link.memory_id
where link.status in ('unresolved', 'ambiguous');
