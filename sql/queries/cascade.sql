-- Which memories and chunks belong in the next prompt, and by which path did each come? From the pool, an object of scores by node id,
-- the cascade walks from the first :seeds; replaced memories make way for what replaces them. Runs in any SQLite from 3.40 on.
-- Scores are compared to twelve digits, as those of the pool have, so that equal products of differently ordered factors are ties, which
-- the keys break.
with recursive
allowed as materialized (
    select value as node_id from json_each(:allowed)
),
pool as materialized (
    select node.id as node_id, node.key, node.kind, found.value as score
    from json_each(:pool) as found join node on node.id = cast(found.key as integer)
),
-- A seed that is hardly likelier than others is no ground for what lies around it: below :confident it starts with the less.
seed as materialized (
    select node_id, key, kind, min(score, score * score / :confident) as start from pool order by score desc, key limit :seeds
),
relay as materialized (
    select node_id, score from pool order by score desc, key limit :hub_pool
),
-- Cascade: both ways along every edge, the score multiplied by the edge's weight and the decay at each hop. An entity passes on the
-- less, the more texts mention it: :relayed / (its neighbours + 1), the whole where two texts share it. To a text that is about it, it
-- passes on :passes_about, which undoes the decay of that hop in a large store: a thing and the text about it are one. Not
-- materialized: SQLite puts the tables in its place, and reads no more than the neighbours of the node where a walk stands.
hop as not materialized (
    select here.id as from_id, here.kind as from_kind, here.degree, neighbor.other_id as to_id, other.kind as to_kind, other.key as to_key, neighbor.kind,
           neighbor.weight * case when here.kind <> 'entity' then 1.0 when neighbor.kind = 'about' then :passes_about
                                  else min(1.0, :relayed / (here.degree + 1)) end as weight
    from node as here
    cross join neighbor on neighbor.node_id = here.id
    cross join node as other on other.id = neighbor.other_id
),
-- The hub rule: a node with more than :hub_degree neighbours relays only to the best :hub_pool of the pool, the second of the two
-- steps below. It is cut before the join, so a hub of any size costs no more than these. A last hop to what is no answer, or,
-- where only the best path counts, to what the arms found better, is not made. The best rows expand first and at most :walk_rows
-- do, which bounds a walk of many hops through a dense graph; two hops from ten seeds stay below it.
walk (node_id, depth, score, came_from, seed_id, trail, weighs_as, key, kind) as (
    select node_id, 0, start, 0, node_id, key || char(9) || start, 1.0, key, kind from seed
    union all
    select to_id, depth + 1, score * weight * :decay, node_id, seed_id,
           trail || char(10) || hop.kind || char(9) || weight || char(9) || (score * weight * :decay) || char(9) || to_key,
           iif(from_kind = 'entity', :by_entity, 1.0), to_key, to_kind
    from walk
    cross join hop on hop.from_id = walk.node_id and hop.degree <= :hub_degree
    where depth < :hops and (depth + 1 < :hops or to_kind in ('memory', 'chunk'))
      and to_id not in (came_from, seed_id) and score * weight * :decay >= :walk_floor
    union all
    select to_id, depth + 1, walk.score * weight * :decay, walk.node_id, seed_id,
           trail || char(10) || hop.kind || char(9) || weight || char(9) || (walk.score * weight * :decay) || char(9) || to_key,
           iif(from_kind = 'entity', :by_entity, 1.0), to_key, to_kind
    from walk
    cross join node as at on at.id = walk.node_id and at.degree > :hub_degree
    cross join relay
    cross join hop on hop.from_id = walk.node_id and hop.to_id = relay.node_id
    where depth < :hops and (:add_evidence or depth + 1 < :hops or walk.score * weight * :decay > relay.score)
      and to_id not in (came_from, seed_id) and walk.score * weight * :decay >= :walk_floor
    order by 3 desc, 2, 6
    limit :walk_rows
),
-- What each path says of the answer that it leads to. It counts for the more, the nearer the text itself lies to the question: its
-- odds, p / (1 - p), are multiplied by what :closeness, factors by key, has for it, by :distant where it is not there. As evidence
-- beside what the arms found it weighs :by_entity where the text shares no more than an entity, whose name may be what they found
-- it by, and :by_record where it began in another part of the same record: parts of one passage are no two reasons.
closeness as materialized (
    select key, value as factor from json_each(:closeness)
),
led as materialized (
    select node_id, key, kind, trail || iif(factor = 1, '', char(9) || factor || char(9) || score) as trail, score, path
    from (
        select node_id, key, kind, trail, factor, score, max(score * weighs) over (partition by node_id) as path,
               row_number() over (partition by node_id order by round(score, 12) desc, depth, trail) as place
        from (
            select node_id, key, kind, depth, trail, factor, weighs, iif(factor = 1, score, score * factor / (1 - score + score * factor)) as score
            from (
                select walk.*, coalesce(closeness.factor, :distant) as factor,
                       iif(exists (select 1 from chunk as part join chunk as first using (document_id, record_id)
                                   where part.id = walk.node_id and first.id = walk.seed_id), :by_record, weighs_as) as weighs
                from walk left join closeness using (key)
                where depth > 0 and kind in ('memory', 'chunk') and (:allowed is null or node_id in (select node_id from allowed))
            )
        )
    )
    where place = 1
),
-- Each answer's best: its own score or its best path, whichever is more. With :add_evidence the path speaks for it beside its own
-- score, 1 - (1 - own)(1 - path), by as much as it weighs as evidence: two independent reasons are more than one. Most of the pool
-- are reached by no path: their trail, which is their own score, is made where they are an answer.
own as (
    select node_id, key, kind, score from pool
    where kind in ('memory', 'chunk') and (:allowed is null or node_id in (select node_id from allowed))
),
reached as materialized (
    select node_id, key, kind, case when is_led then trail when led is not null then key || char(9) || own end as trail,
           iif(:add_evidence and own is not null and path is not null, max(best, 1 - (1 - own) * (1 - path)), best) as score
    from (
        select *, iif(is_led, led, own) as best
        from (
            select coalesce(own.node_id, led.node_id) as node_id, coalesce(own.key, led.key) as key, coalesce(own.kind, led.kind) as kind,
                   own.score as own, led.score as led, path, trail,
                   case when own.score is null then 1 when led.score is null then 0 else round(led.score, 12) > round(own.score, 12) end as is_led
            from own full join led on led.node_id = own.node_id
        )
    )
),
-- Succession: what stands above each memory that was reached and replaced, by `supersedes` and `replaces` edges (newer to older).
above (old_id, at_id, steps) as materialized (
    select node_id, node_id, 0 from reached
    where kind = 'memory'
      and exists (select 1 from edge where edge.dst = node_id and edge.kind in ('supersedes', 'replaces') and edge.active)
    union
    select above.old_id, edge.src, above.steps + 1
    from above cross join edge on edge.dst = above.at_id and edge.kind in ('supersedes', 'replaces') and edge.active
    where above.steps < :succession_limit
),
-- Memories that replace one another in a ring have no order: the edges of a ring count for nothing.
ring (start_id, at_id, steps) as materialized (
    select distinct at_id, at_id, 0 from above where steps > 0
    union
    select ring.start_id, edge.src, ring.steps + 1
    from ring cross join edge on edge.dst = ring.at_id and edge.kind in ('supersedes', 'replaces') and edge.active
    where ring.steps < :succession_limit
),
replaces as materialized (
    select edge.dst as old_id, edge.src as new_id, max(edge.kind) as kind
    from (select distinct at_id from above)
    cross join edge on edge.dst = at_id and edge.kind in ('supersedes', 'replaces') and edge.active
    where not exists (select 1 from ring where ring.start_id = edge.src and ring.at_id = edge.dst)
    group by edge.dst, edge.src
),
-- Every way up that is left, with its length. A memory that the filters exclude is passed through and never an answer.
chain (old_id, at_id, steps) as materialized (
    select distinct at_id, at_id, 0 from above
    union
    select chain.old_id, replaces.new_id, chain.steps + 1
    from chain join replaces on replaces.old_id = chain.at_id
    where chain.steps < :succession_limit
),
permitted as materialized (
    select at_id
    from (select distinct at_id from above)
    where :allowed is null or at_id in (select node_id from allowed)
),
-- How many memories stand above each, in the longest way up.
height as materialized (
    select old_id as node_id, max(steps) as height
    from chain
    where at_id in (select at_id from permitted)
    group by old_id
),
-- A replaced memory hands its score to what replaces it and steps back by one `supersedes` hop for each memory above it.
best as materialized (
    select chain.at_id as node_id, reached.node_id as old_id, chain.steps, reached.score as whole, coalesce(reached.trail, reached.key || char(9) || reached.score) as trail,
           reached.score * coalesce(:supersession_steps ->> ('$[' || height.height || ']'), 0) as score,
           row_number() over (partition by chain.at_id
                              order by round(reached.score, 12) desc, chain.steps, coalesce(reached.trail, reached.key || char(9) || reached.score)) as place
    from reached
    join chain on chain.old_id = reached.node_id
    join height on height.node_id = chain.at_id
    where chain.at_id in (select at_id from permitted)
),
ranked as (
    select node_id, old_id, steps, whole, trail, score, key,
           row_number() over ranking as place, sum(instr(key, '~') = 0) over ranking as records
    from (
        select node_id, old_id, steps, whole, trail, score, (select node.key from node where node.id = node_id) as key from best where place = 1
        union all
        select node_id, node_id, 0, score, trail, score, key from reached where node_id not in (select at_id from above)
    )
    window ranking as (order by iif(trail is null, score, round(score, 12)) desc, key rows unbounded preceding)
),
-- A record is one passage, however many parts it was cut into: the best of them stands for it. All parts but the first have a ~ in
-- their key: where so many have none, there are so many records.
answer as materialized (
    select node_id, old_id, steps, whole, coalesce(trail, key || char(9) || score) as trail, score
    from (
        select top.*,
               row_number() over (partition by iif(part.record_id is null, node_id,
                                      json_array(part.document_id, part.record_id, part.heading_path, part.title, part.start_line, part.end_line))
                                  order by top.place) as part
        from ranked as top
        left join chunk as part on part.id = top.node_id
        where top.records <= :limit
    )
    where part = 1
    order by place
    limit :limit
),
-- The path goes on from the memory that was found, up to what replaces it. Of several ways up of the same length it shows the
-- one with the smallest keys.
route (node_id, here_id, left, trail, whole, score) as (
    select node_id, old_id, steps, trail, whole, score from answer
    union all
    select route.node_id, step.id, route.left - 1,
           route.trail || char(10) || (select kind from replaces where old_id = route.here_id and new_id = step.id) || char(9) || 1.0 || char(9) || route.whole || char(9) || step.key,
           route.whole, route.score
    from route
    join node as step on step.key = (
        select min(node.key)
        from replaces
        join node on node.id = replaces.new_id
        join chain on chain.old_id = replaces.new_id and chain.at_id = route.node_id and chain.steps = route.left - 1
        where replaces.old_id = route.here_id)
    where route.left > 0
)
select node.key, node.kind, route.score, route.trail, coalesce(memory.name, document_node.label) as name,
       coalesce(memory.type, 'document') as type, coalesce(nullif(memory.description, ''), substr(chunk.text, 1, 200),
                substr(trim(memory.body, ' ' || char(9, 10, 13)), 1, 200)) as description,
       coalesce(source.path, (select min(path) from place where place.document_id = chunk.document_id)) as file,
       (select json_group_array(key) from (
            select newer.key from edge join node as newer on newer.id = edge.src
            where edge.dst = node.id and edge.kind in ('supersedes', 'replaces') and edge.active order by newer.key)) as superseded_by,
       (select json_group_array(key) from (
            select against.key from edge join node as against on against.id = edge.dst
            where edge.src = node.id and edge.kind = 'contradicts' and edge.active
            union
            select against.key from edge join node as against on against.id = edge.src
            where edge.dst = node.id and edge.kind = 'contradicts' and edge.active
            order by 1)) as contradicts,
       (select json_group_array(conflict_key) from (
            select distinct conflict_key from conflict_side where node_id = node.id order by 1)) as conflicts,
       -- What it states and a person decided against: a relation that lost is inactive.
       (select json_group_array(said) from (
            select distinct subject.name || ' ' || edge.predicate || ' ' || object.name as said
            from statement
            cross join entity as subject on subject.name_key = coalesce(
                (select entity_key from entity_alias where entity_alias.name_key = subject_key), subject_key)
            cross join entity as object on object.name_key = coalesce(
                (select entity_key from entity_alias where entity_alias.name_key = object_key), object_key)
            cross join edge on edge.src = subject.id and edge.dst = object.id and edge.kind = 'relates'
                and edge.predicate = statement.predicate and not edge.active
            where statement.node_id = node.id order by 1)) as retired,
       memory.valid_to, document_node.key as document, chunk.heading_path, chunk.page, chunk.start_line, chunk.end_line,
       chunk.record_id, document.state = 'missing' as is_missing,
       (select min(link) from place join snapshot using (path) where place.document_id = chunk.document_id) as link
from route
join node on node.id = route.node_id
left join memory on memory.id = node.id
left join source on source.id = memory.source_id
left join chunk on chunk.id = node.id
left join document on document.id = chunk.document_id
left join node as document_node on document_node.id = document.id
where route.left = 0
order by round(route.score, 12) desc, node.key;
