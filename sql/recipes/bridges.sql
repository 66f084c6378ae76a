-- Which things do both a memory and a document mention?
select id, name, memories, documents
from entities
where memories > 0 and documents > 0
order by memories + documents desc, id;
