-- Which memories were replaced, and by which?
create view superseded as
select older.key as id,                     -- type/name
       newer.key as superseded_by           -- type/name of a newer memory
from edge
join node as older on older.id = edge.dst
join node as newer on newer.id = edge.src
where edge.kind in ('supersedes', 'replaces') and edge.active;
