-- How far is the index, file by file?
create view index_status as
select node.key as id,                      -- type/name
       source.path as file,                 -- relative to the root
       source.sha256,                       -- of the file's bytes
       embedded.model as embedded_by,       -- null: not embedded
       case when memory.has_secret then 'withheld: secret'
            when embedded.text_sha256 is memory.text_sha256 then 'embedded'
            else 'waiting' end as vectors,  -- embedded, waiting, withheld: secret
       (select count(*) from passage where passage.node_id = memory.id) as passages -- windows that have a vector
from memory
join node on node.id = memory.id
join source on source.id = memory.source_id
left join embedded on embedded.node_id = memory.id;
