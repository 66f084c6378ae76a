-- Which memories and chunks lie nearest to the question's vector? Needs sqlite-vec.
-- Bit vectors give the candidates, the exact vectors the similarity; where :exact is 1 every passage is a candidate. A process that holds
-- all bit vectors in memory has compared them itself, in a large store by two bits a dimension, and gives the candidates as :known, a
-- JSON array of passages, else null.
with near as materialized (
    select * from (
        select passage_id, vec_distance_hamming(vec_bit(bits), vec_quantize_binary(:vector)) as distance
        from signature
        where not :exact and :allowed is null and :known is null
        order by distance
        limit :candidates
    )
    union all
    select * from (
        select passage_id, vec_distance_hamming(vec_bit(bits), vec_quantize_binary(:vector)) as distance
        from json_each(:allowed)
        cross join passage on passage.node_id = value
        cross join signature on signature.passage_id = passage.id
        where not :exact
        order by distance
        limit :candidates
    )
),
-- Where the candidates were cut, those at the cut are some of several at one distance, by chance of their row: leave them all,
-- unless there are no others.
candidate as (
    select passage_id
    from near
    where (select count(*) < :candidates or min(distance) = max(distance) from near)
       or distance < (select max(distance) from near)
    union all
    select value from json_each(:known)
    union all
    select id from passage where :exact and :allowed is null
    union all
    select passage.id from json_each(:allowed) join passage on passage.node_id = value where :exact
),
-- Each by itself before they are grouped: else the vectors, not the numbers, would be sorted.
compared as materialized (
    select passage.node_id, 1 - vec_distance_cosine(embedding.vector, :vector) as similarity
    from candidate
    cross join passage on passage.id = candidate.passage_id
    cross join embedding on embedding.model_id = (select model_id from embedding_model join meta on key = 'model' and value = model)
        and embedding.text_sha256 = passage.text_sha256
),
scored as materialized (
    select node_id, max(similarity) as similarity from compared group by node_id
)
select node.key, round(scored.similarity, 12) as similarity, node.id as node_id
from scored
join node on node.id = scored.node_id
order by 2 desc, node.key
limit :pool;
