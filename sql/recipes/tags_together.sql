-- Which tags go together?
select one.target as tag, other.target as other, count(*) as memories
from graph_edges as one
join graph_edges as other on other.source = one.source and other.kind = 'has_tag' and other.target > one.target
where one.kind = 'has_tag'
group by one.target, other.target
order by memories desc, tag, other
limit 20;
