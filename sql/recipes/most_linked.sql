-- Which memories do others link to most?
select target, count(distinct source) as memories
from links
where status = 'resolved'
group by target
order by memories desc, target
limit 20;
