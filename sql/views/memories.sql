-- What does the store remember? One row per memory file.
create view memories as
select node.key as id,                      -- type/name
       memory.type,
       memory.name,
       memory.description,
       memory.tags,                         -- JSON list
       source.path as file,                 -- relative to the root
       memory.created,                      -- dates as they were typed
       memory.modified,
       memory.happened_at,
       memory.valid_from,
       memory.valid_to,
       node.degree as neighbours,
       exists (select 1 from edge where edge.dst = memory.id and edge.kind = 'supersedes' and edge.active) as superseded,
       -- When a model read this text; null where none did.
       strftime('%Y-%m-%dT%H:%M:%SZ', cast(substr(memory.indexed_at, 1, 13) as integer) / 1000, 'unixepoch') as indexed_at,
       memory.has_secret,                   -- 1: redacted, never embedded
       memory.body
from memory
join node on node.id = memory.id
join source on source.id = memory.source_id;
