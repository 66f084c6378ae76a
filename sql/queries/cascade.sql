-- Which memories belong in the next prompt, and by which path did each come? From the pool, [key, score] with the best first,
-- the cascade walks from the first :seeds; replaced memories make way for what replaces them. Runs in any SQLite from 3.40 on.
with recursive
allowed as materialized (
    select value as node_id from json_each(:allowed)
),
pool as materialized (
    select node.id as node_id, node.key, value ->> 1 as score
    from json_each(:pool) join node on node.key = value ->> 0
),
seed as materialized (
    select node_id, key, score from pool order by score desc, key limit :seeds
),
-- Cascade: both ways along every edge, the score multiplied by the edge's weight and the decay at each hop.
-- The hub rule: a node with more than :hub_degree neighbours relays only to nodes that are in the pool. It is cut before the
-- join, so a hub of any size costs no more than the pool.
walk (node_id, depth, score, came_from, trail) as (
    select node_id, 0, score, 0, key || char(9) || score from seed
    union all
    select neighbor.other_id, walk.depth + 1, walk.score * neighbor.weight * :decay, walk.node_id,
           walk.trail || char(10) || neighbor.kind || char(9) || neighbor.weight || char(9)
               || (walk.score * neighbor.weight * :decay) || char(9) || other.key
    from walk
    cross join node as here on here.id = walk.node_id
    cross join neighbor on neighbor.node_id = walk.node_id
    cross join node as other on other.id = neighbor.other_id
    where walk.depth < :hops and here.degree <= :hub_degree
      and neighbor.other_id <> walk.came_from and walk.score * neighbor.weight * :decay >= :walk_floor
    union all
    select neighbor.other_id, walk.depth + 1, walk.score * neighbor.weight * :decay, walk.node_id,
           walk.trail || char(10) || neighbor.kind || char(9) || neighbor.weight || char(9)
               || (walk.score * neighbor.weight * :decay) || char(9) || pool.key
    from walk
    cross join node as here on here.id = walk.node_id
    cross join pool
    cross join neighbor on neighbor.node_id = walk.node_id and neighbor.other_id = pool.node_id
    where walk.depth < :hops and here.degree > :hub_degree
      and neighbor.other_id <> walk.came_from and walk.score * neighbor.weight * :decay >= :walk_floor
),
-- Each memory's best: its own score or its best path, whichever is more.
reached as materialized (
    select node_id, score, trail
    from (
        select node_id, score, trail, row_number() over (partition by node_id order by score desc, depth, trail) as place
        from (
            select node_id, depth, score, trail from walk
            union all
            select node_id, 0, score, key || char(9) || score from pool
        )
    )
    where place = 1
      and node_id in (select id from node where kind = 'memory')
      and (:allowed is null or node_id in (select node_id from allowed))
),
-- Succession: from every memory that was reached up to what replaces it, by `supersedes` edges (newer to older).
chain (old_id, at_id, steps) as (
    select node_id, node_id, 0 from reached
    union
    select chain.old_id, edge.src, chain.steps + 1
    from chain join edge on edge.dst = chain.at_id and edge.kind = 'supersedes' and edge.active
    where chain.steps < :succession_limit
      and (:allowed is null or edge.src in (select node_id from allowed))
),
newest as materialized (
    select old_id, max(steps) as length
    from chain
    where not exists (select 1 from edge where edge.dst = chain.at_id and edge.kind = 'supersedes' and edge.active)
    group by old_id
),
-- A replaced memory hands its score to what replaces it and steps back by one `supersedes` hop for each memory above it.
lifted as materialized (
    select node_id, score * step as score, trail
    from (
        select chain.at_id as node_id, reached.score, pow_step.value as step,
               case when chain.steps = 0 then reached.trail
                    else reached.trail || char(10) || 'supersedes' || char(9) || 1.0 || char(9) || reached.score
                         || char(9) || node.key end as trail,
               row_number() over (partition by chain.at_id order by reached.score desc, chain.steps, reached.trail) as place
        from newest
        join chain on chain.old_id = newest.old_id and chain.steps <= newest.length
        join reached on reached.node_id = chain.old_id
        join node on node.id = chain.at_id
        join (select key as exponent, value from json_each(:supersession_steps)) as pow_step
          on pow_step.exponent = newest.length - chain.steps
    )
    where place = 1
),
answer as materialized (
    select node_id, score, trail from lifted
    union all
    select node_id, score, trail from reached
    where node_id not in (select node_id from lifted)
)
select node.key, answer.score, answer.trail, memory.name, memory.type, memory.description, source.path,
       (select json_group_array(newer.key) from edge join node as newer on newer.id = edge.src
        where edge.dst = node.id and edge.kind = 'supersedes' and edge.active) as superseded_by,
       (select json_group_array(against.key) from edge join node as against
          on against.id = case edge.src when node.id then edge.dst else edge.src end
        where node.id in (edge.src, edge.dst) and edge.kind = 'contradicts' and edge.active) as contradicts,
       memory.valid_to
from answer
join node on node.id = answer.node_id
join memory on memory.id = node.id
join source on source.id = memory.source_id
order by answer.score desc, node.key
limit :limit;
