-- Which tags are there, and how many memories has each?
create view tags as
select node.label as tag,                   -- without #
       count(edge.id) as memories           -- that have it
from node
left join edge on edge.dst = node.id and edge.kind = 'has_tag' and edge.active
where node.kind = 'tag'
group by node.id;
