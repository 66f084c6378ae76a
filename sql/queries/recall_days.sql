-- What days have the texts that a question found? Of a memory when it happened, was changed and written, and how long it is valid;
-- of a chunk the day of its record, else of its document.
select node.key, coalesce(memory.happened_at, memory.frontmatter ->> 'date') as happened, memory.modified, memory.created, memory.valid_from,
       memory.valid_to, coalesce(chunk.day, document.day) as day, coalesce(memory.name, document_node.key) as name
from json_each(:keys) as wanted
cross join node on node.key = wanted.value
left join memory on memory.id = node.id
left join chunk on chunk.id = node.id
left join document on document.id = chunk.document_id
left join node as document_node on document_node.id = document.id
order by node.key;
