-- Which memories changed most often?
select id, count(*) as versions, max(at) as last
from memory_versions
group by id
order by versions desc, id
limit 20;
