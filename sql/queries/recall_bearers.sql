-- Which texts bear the name of something that a question names themselves? An entity of more than :entity_degree texts is passed over.
select neighbor.node_id as entity_id, neighbor.other_id as node_id
from json_each(:entities)
join node on node.id = value and node.degree <= :entity_degree
cross join neighbor on neighbor.node_id = node.id and neighbor.kind = 'about'
order by 1, 2;
