-- Which memories have no neighbour at all?
create view orphans as
select key as id,                           -- type/name
       label as name                        -- of the memory
from node
where kind = 'memory' and degree = 0;
