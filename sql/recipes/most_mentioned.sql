-- What is this memory about most?
select name, type, mentions, memories, documents
from entities
order by mentions desc, id
limit 20;
