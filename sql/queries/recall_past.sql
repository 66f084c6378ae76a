-- Which of some earlier texts, :versions, hold words of a question, and how well? As recall_fusion does it for the texts of today.
with term as materialized (
    select key as place, value ->> 0 as term, value ->> 1 as idf, value ->> 2 as weight from json_each(:terms)
),
posting as materialized (
    select version_instance.doc as version_id, term.term, term.idf, term.weight,
           sum(case version_instance.col when 'name' then :name_weight when 'description' then :description_weight
                    when 'tags' then :tags_weight when 'parts' then :parts_weight else 1.0 end) as frequency
    from term cross join version_instance on version_instance.term = term.term
    where version_instance.doc in (select value from json_each(:versions))
    group by version_instance.doc, term.place
)
select posting.version_id, count(*) as words, count(*) = :words as whole,
       round(min(1.0, sum(posting.weight) / :weight_total), 12) as share,
       round(sum(posting.idf * posting.frequency * (:k1 + 1)
                 / (posting.frequency + :k1 * (1 - :b + :b * version_length.words * max(fts_total.texts, 1.0) / max(fts_total.words, 1.0))))
             / :idf_total, 12) as bulk
from posting
join version_length on version_length.version_id = posting.version_id
join fts_total
group by posting.version_id
order by bulk desc, posting.version_id;
