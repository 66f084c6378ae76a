-- What does the store remember? One row per memory file.
create view memories as
select node.key as id,                      -- type/name
       memory.type,                         -- from the folder, else from the frontmatter
       memory.name,                         -- from the frontmatter, else the file's
       memory.description,                  -- from the frontmatter
       memory.tags,                         -- JSON list
       source.path as file,                 -- relative to the root
       memory.created,                      -- dates as they were typed
       memory.modified,                     -- as typed
       memory.happened_at,                  -- as typed
       memory.valid_from,                   -- as typed
       memory.valid_to,                     -- as typed
       node.degree as neighbours,           -- nodes that an edge leads to or from
       exists (select 1 from edge
               where edge.dst = memory.id and edge.kind in ('supersedes', 'replaces') and edge.active) as superseded, -- 1: a newer memory replaces it
       strftime('%Y-%m-%dT%H:%M:%SZ', cast(substr(memory.indexed_at, 1, 13) as integer) / 1000,
                'unixepoch') as indexed_at, -- when a model read this text; null where none did
       memory.has_secret,                   -- 1: redacted, never embedded
       memory.body                          -- secrets redacted
from memory
join node on node.id = memory.id
join source on source.id = memory.source_id;
