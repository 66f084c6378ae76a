-- What did memories say before?
create view memory_versions as
select memory_key as id,                    -- type/name
       row_number() over (partition by memory_key order by memory_version.id) as version, -- from 1, the oldest
       strftime('%Y-%m-%dT%H:%M:%SZ', cast(substr(at, 1, 13) as integer) / 1000, 'unixepoch') as at, -- UTC: when it was replaced
       reason,                              -- saved, edited, deleted, restated, restored: why it was replaced
       sha256,                              -- of the file's bytes then
       text,                                -- the whole file; null where it is withheld
       withheld                             -- why there is no text: secret
from memory_version;
