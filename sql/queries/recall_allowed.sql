-- Which memories and chunks do the filters of a recall let through? A filter that is null lets all through.
select memory.id
from memory
join source on source.id = memory.source_id
where (:kinds is null or 'memory' in (select value from json_each(:kinds)))
  and :document is null
  and (:types is null or memory.type in (select value from json_each(:types)))
  and (:tags is null or not exists (
        select 1 from json_each(:tags) as wanted
        where not exists (
            select 1 from edge join node as tag on tag.id = edge.dst
            where edge.src = memory.id and edge.kind = 'has_tag' and edge.active and tag.key = 'tag:' || wanted.value)))
  and (:path is null or source.path glob :path)
  and (:since is null or substr(coalesce(happened_at, modified, created), 1, length(:since)) >= :since)
  and (:until is null or substr(coalesce(happened_at, modified, created), 1, length(:until)) <= :until)
  and (:as_of is null or (coalesce(substr(valid_from, 1, length(:as_of)) <= :as_of, 1)
                          and coalesce(substr(valid_to, 1, length(:as_of)) >= :as_of, 1)
                          and (valid_from is not null or coalesce(created, '') not glob '[0-9][0-9][0-9][0-9]*'
                               or substr(created, 1, length(:as_of)) <= :as_of)))
union all
select chunk.id
from chunk
join document on document.id = chunk.document_id
where (:kinds is null or 'chunk' in (select value from json_each(:kinds)))
  and :types is null and :tags is null
  and (:document is null or (select key from node where node.id = chunk.document_id) = :document)
  and (:path is null or exists (select 1 from place where place.document_id = chunk.document_id and place.path glob :path))
  and (:since is null or substr(coalesce(chunk.created, document.created), 1, length(:since)) >= :since)
  and (:until is null or substr(coalesce(chunk.created, document.created), 1, length(:until)) <= :until);
