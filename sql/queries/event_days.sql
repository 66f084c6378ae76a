-- Which memories and documents bear a name, and of which days are they? By the whole name, an alias, a title or another name of the same
-- entity; each name comes as [place, match key, name key]. Runs in any SQLite from 3.40 on.
with asked as materialized (
    select value ->> 0 as place, value ->> 1 as match_key, value ->> 2 as name_key from json_each(:names)
),
bearer as materialized (
    select asked.place, known_name.node_id
    from asked join known_name using (match_key)
    where known_name.source in ('memory', 'alias', 'title')
    union
    select asked.place, known_name.node_id
    from asked
    join entity_alias on entity_alias.name_key = asked.name_key
    join known_name on known_name.name_key = entity_alias.entity_key and known_name.source in ('memory', 'title')
)
select bearer.place, node.key,
       coalesce(memory.happened_at, memory.frontmatter ->> 'date', memory.valid_from, memory.created, document.day) as day,
       iif(coalesce(memory.happened_at, memory.frontmatter ->> 'date') is null and memory.valid_from is not null, memory.valid_to, null) as last
from bearer
join node on node.id = bearer.node_id
left join memory on memory.id = bearer.node_id
left join document on document.id = bearer.node_id
order by 1, 2;
