-- Which memories have all of these words in their names, and of which days are they? Words come as the index has them.
select node.key, coalesce(memory.happened_at, memory.frontmatter ->> 'date', memory.valid_from, memory.created) as day,
       iif(coalesce(memory.happened_at, memory.frontmatter ->> 'date') is null and memory.valid_from is not null, memory.valid_to, null) as last
from (
    select fts_instance.doc as node_id
    from json_each(:terms) as wanted cross join fts_instance on fts_instance.term = wanted.value
    where fts_instance.col = 'name'
    group by fts_instance.doc
    having count(distinct fts_instance.term) = json_array_length(:terms)
) as found
join memory on memory.id = found.node_id
join node on node.id = found.node_id
order by 1
limit 2;
