-- Which nodes has the graph?
create view graph_nodes as
select key as id,                           -- type/name of a memory, document:…, entity:…, tag:…, cluster:…
       kind,                                -- memory, document, chunk, entity, tag, cluster
       label,                               -- what it is called
       degree as neighbours                 -- nodes that an edge leads to or from
from node;
