-- Which edges has the graph? Only those that stand; graph_edges_all has the others too.
create view graph_edges as
select source.key as source,                -- id of a node; memory and chunk ids as elsewhere, others with tag:, entity:, cluster:, document:
       edge.kind,                           -- has_tag, links_to, supersedes, in_cluster, next, mentions, about, relates, …
       edge.predicate,                      -- of a relation; empty for the others
       target.key as target,                -- id of a node; the walk goes both ways
       edge.weight                          -- 0 to 1: how much of a score it passes on
from edge
join node as source on source.id = edge.src
join node as target on target.id = edge.dst
where edge.active;
