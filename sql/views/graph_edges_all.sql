-- Which edges has the graph, those that no longer stand included?
create view graph_edges_all as
select source.key as source,                -- id of a node
       edge.kind,                           -- has_tag, links_to, supersedes, in_cluster, next, mentions, about, relates, …
       edge.predicate,                      -- of a relation; empty for the others
       target.key as target,                -- id of a node
       edge.weight,                         -- 0 to 1: how much of a score it passes on
       edge.active                          -- 1: it stands
from edge
join node as source on source.id = edge.src
join node as target on target.id = edge.dst;
