-- Which memories belong together by meaning? One row per cluster and member.
create view clusters as
select cluster_node.key as cluster,         -- cluster:c-…, the same after every recomputation
       cluster_node.label,                  -- the members' most telling words
       member.key as memory                 -- type/name
from edge
join node as cluster_node on cluster_node.id = edge.dst
join node as member on member.id = edge.src
where edge.kind = 'in_cluster' and edge.active;
