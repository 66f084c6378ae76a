-- Which hubs does a walk from these seeds meet, through which it goes only to what is in the pool?
with pool as (
    select node.id as node_id from json_each(:pool) as found join node on node.id = cast(found.key as integer)
)
select node.key, node.degree
from (
    select node_id from pool
    union
    select neighbor.other_id
    from pool
    join node as here on here.id = pool.node_id and here.degree <= :hub_degree
    join neighbor on neighbor.node_id = here.id
    where :hops > 1
) as met
join node on node.id = met.node_id
where node.degree > :hub_degree
order by node.key;
