-- Which memories lie nearest to the question's vector? Needs sqlite-vec.
-- Bit vectors give the candidates (all passages while there are at most :candidates), the exact vectors give the similarity.
with candidate as materialized (
    select passage_id
    from vec_passage
    where signature match vec_quantize_binary(:vector)
      and k = :candidates
      and (:allowed is null or passage_id in (
            select passage.id from passage where node_id in (select value from json_each(:allowed))))
)
select node.key, max(1 - vec_distance_cosine(embedding.vector, :vector)) as similarity
from candidate
join passage on passage.id = candidate.passage_id
join embedding on embedding.model = passage.model and embedding.text_sha256 = passage.text_sha256
join node on node.id = passage.node_id
group by node.key
order by similarity desc, node.key
limit :pool;
