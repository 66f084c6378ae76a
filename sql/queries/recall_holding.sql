-- Which texts have a word of a question that is not common, and how much BM25 do these words alone give them? The words come as
-- recall_fusion has them, the rarest first; :common is the place of the first common one. Runs in any SQLite from 3.40 on.
with
term as materialized (
    select key as place, value ->> 0 as term, value ->> 1 as idf from json_each(:terms) where key < :common
),
posting as materialized (
    select fts_instance.doc as node_id, term.idf,
           sum(case fts_instance.col when 'name' then :name_weight when 'description' then :description_weight
                    when 'tags' then :tags_weight when 'parts' then :parts_weight else 1.0 end) as frequency
    from term cross join fts_instance on fts_instance.term = term.term
    where :allowed is null or fts_instance.doc in (select value from json_each(:allowed))
    group by fts_instance.doc * 100 + term.place
)
select node_id, sum(posting.idf * posting.frequency * (:k1 + 1)
           / (posting.frequency + :k1 * (1 - :b + :b * fts_length.words * fts_total.texts / fts_total.words))) / :idf_total as bulk
from posting
join fts_length using (node_id)
join fts_total
group by node_id;
