-- Which edges has the graph, those that no longer stand included?
create view graph_edges_all as
select source.key as source, edge.kind, edge.predicate, target.key as target, edge.weight, edge.active
from edge
join node as source on source.id = edge.src
join node as target on target.id = edge.dst;
