-- Which memories were replaced, and by which?
create view superseded as
select older.key as id, newer.key as superseded_by
from edge
join node as older on older.id = edge.dst
join node as newer on newer.id = edge.src
where edge.kind = 'supersedes' and edge.active;
