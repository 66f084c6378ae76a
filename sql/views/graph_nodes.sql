-- Which nodes has the graph?
create view graph_nodes as
select key as id, kind, label, degree as neighbours
from node;
