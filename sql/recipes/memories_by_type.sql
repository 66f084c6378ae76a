-- How many memories of each type are there, and how long are they?
select type, count(*) as memories, sum(length(body)) as characters
from memories
group by type
order by memories desc, type;
