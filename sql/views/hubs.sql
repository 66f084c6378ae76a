-- Which nodes have so many neighbours that a walk goes through them only to what the question found too (over 50)?
create view hubs as
select key as id,                           -- of a node
       kind,                                -- memory, document, chunk, entity, tag, cluster
       label,                               -- what it is called
       degree as neighbours                 -- over 50
from node
where degree > 50;
