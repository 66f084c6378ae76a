-- What did memories say before?
create view memory_versions as
select memory_key as id,                    -- type/name
       row_number() over (partition by memory_key order by memory_version.id) as version, -- from 1, the oldest
       strftime('%Y-%m-%dT%H:%M:%SZ', cast(substr(at, 1, 13) as integer) / 1000, 'unixepoch') as at, -- UTC: when it was replaced
       reason,                              -- saved, edited, deleted, restated, restored: why it was replaced
       sha256,                              -- of the file's bytes then
       text,                                -- the whole file; null where it is withheld
       withheld                             -- why there is no text: secret
from memory_version
-- Not a text that is the memory's still: it is journaled before it is replaced, and a process may be killed in between.
where reason = 'deleted'
   or exists (select 1 from memory_version as later
              where later.memory_key = memory_version.memory_key and later.id > memory_version.id)
   or not exists (select 1 from node join memory using (id) join source on source.id = source_id
                  where node.key = memory_version.memory_key and node.kind = 'memory' and source.sha256 = memory_version.sha256);
