-- Which memories replace others, and which stand beside each other though they clash? By files and by decisions alike.
create view beliefs as
select newer.key as id,                     -- the newer one, or the one that was kept
       edge.kind,                           -- supersedes: a file says so; replaces, distinct: a person decided
       older.key as other                   -- the older one, or the one that lost
from edge
join node as newer on newer.id = edge.src
join node as older on older.id = edge.dst
where edge.kind in ('supersedes', 'replaces', 'distinct') and edge.active;
