-- Which memories does no walk reach?
select orphans.id, memories.description
from orphans
join memories on memories.id = orphans.id
order by orphans.id;
