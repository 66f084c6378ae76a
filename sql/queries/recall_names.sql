-- Which entities are called something near in meaning to the question? Needs sqlite-vec.
-- Bit vectors give the candidates, the exact vectors the similarity.
with near as materialized (
    select entity_id, text_sha256
    from entity_name
    order by vec_distance_hamming(vec_bit(bits), vec_quantize_binary(:vector)), text_sha256
    limit :candidates
),
scored as materialized (
    select near.entity_id, round(1 - vec_distance_cosine(embedding.vector, :vector), 12) as similarity
    from near
    cross join embedding on embedding.model_id = (select model_id from embedding_model join meta on key = 'model' and value = model)
        and embedding.text_sha256 = near.text_sha256
)
select node.id, scored.similarity
from scored
join node on node.id = scored.entity_id
where scored.similarity >= :floor
order by scored.similarity desc, node.key
limit :nearest;
