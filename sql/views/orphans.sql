-- Which memories have no neighbour at all?
create view orphans as
select key as id, label as name
from node
where kind = 'memory' and degree = 0;
