-- What did memories say before?
create view memory_versions as
select memory_key as id,
       row_number() over (partition by memory_key order by memory_version.id) as version,
       strftime('%Y-%m-%dT%H:%M:%SZ', cast(substr(at, 1, 13) as integer) / 1000, 'unixepoch') as at,
       reason,                              -- saved, edited, deleted: why it was replaced
       sha256,
       text,
       withheld                             -- why there is no text: secret
from memory_version;
