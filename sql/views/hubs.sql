-- Which nodes have so many neighbours that a walk goes through them only to what the question found too (over 50)?
create view hubs as
select key as id, kind, label, degree as neighbours
from node
where degree > 50;
