-- Which edges has the graph? Only those that stand; graph_edges_all has the others too.
create view graph_edges as
select source.key as source, edge.kind, edge.predicate, target.key as target, edge.weight
from edge
join node as source on source.id = edge.src
join node as target on target.id = edge.dst
where edge.active;
