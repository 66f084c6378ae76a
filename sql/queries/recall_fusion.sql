-- Which memories does a question find, and how likely is each? The keyword arm is here, the vector arm's hits come in as
-- :vector_hits; fusion mixes them. Runs in any SQLite from 3.40 on.
with
-- Keyword arm: BM25 over the postings of the question's words. Each word comes as [term, idf, weight, taken]. Of a name that a
-- text bears itself, one of :bearers, the words ask for that text: they are taken, and say nothing for others. A process that
-- looked through the postings gives those of texts that can be candidates as :postings, an object with the frequencies by text * 100 + place, else it is null.
term as materialized (
    select key as place, value ->> 0 as term, value ->> 1 as idf, value ->> 2 as weight, coalesce(value ->> 3, 0) as taken
    from json_each(:terms)
),
allowed as materialized (
    select value as node_id from json_each(:allowed)
),
posting as materialized (
    select cast(told.key as integer) / 100 as node_id, term.place, term.idf, term.weight, term.taken, told.value as frequency
    from json_each(:postings) as told cross join term on term.place = cast(told.key as integer) % 100
    union all
    select * from (
        select fts_instance.doc, term.place, term.idf, term.weight, term.taken,
               sum(case fts_instance.col when 'name' then :name_weight when 'description' then :description_weight
                        when 'tags' then :tags_weight when 'parts' then :parts_weight else 1.0 end)
        from term cross join fts_instance on fts_instance.term = term.term
        where :postings is null and (:allowed is null or fts_instance.doc in (select node_id from allowed))
        -- One number for text and word: to group by two columns costs half as much again.
        group by fts_instance.doc * 100 + term.place
    )
),
-- Of each text: whether it holds all words, the share of the question it holds (words weighed by how rare they are), and BM25
-- over the idf of the whole question, which is about 1 where each word stands once; `rest` is that of the words that are not taken,
-- null where none is. To twelve digits, because the last one depends on the order of addition; to round takes longer than to add, and
-- texts that are no candidates by far, which are most, are left out before.
matched as materialized (
    select node_id, words, words = :words as whole, round(min(1.0, share), 12) as share, round(bulk, 12) as bulk, round(nullif(rest, bulk), 12) as rest
    from (
        select node_id, count(*) as words, sum(weight) / :weight_total as share, sum(gain) / :idf_total as bulk,
               sum(gain * (1 - taken)) / :idf_total as rest, max(sum(gain)) over () / :idf_total as most
        from (
            select posting.node_id, posting.weight, posting.taken,
                   posting.idf * posting.frequency * (:k1 + 1)
                       / (posting.frequency + :k1 * (1 - :b + :b * fts_length.words * fts_total.texts / fts_total.words)) as gain
            from posting
            join fts_length on fts_length.node_id = posting.node_id
            join fts_total
        )
        group by node_id
    )
    where share > min(:keyword_strong, :keyword_weak, :keyword_alone) - 1e-9 or bulk > :keyword_tail * most - 1e-9
    -- Of a recall as of a time: what memories that were edited since said then, as recall_past found it.
    union all
    select value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 4 from json_each(:past)
),
-- Vector arm: [text, similarity], nearest first.
near as materialized (
    select value ->> 0 as node_id, value ->> 1 as similarity, key + 1 as place from json_each(:vector_hits)
),
-- A text with few of the question's words is an answer only where the vector arm, when it is on, does not speak against it.
telling as materialized (
    select node_id from matched
    where share >= :keyword_strong
       or share >= case when matched.words > 1 then :keyword_weak else :keyword_alone end
          and (not :vector_on or matched.node_id in (select node_id from near where similarity >= :vector_weak)
               or matched.node_id in (select value ->> 0 from json_each(:past)))
),
-- Where there is an answer, other texts follow it down to a part of the best one's BM25. All words come first, then any word.
-- Similarity is tanh(bulk), as x(27 + x²) / (27 + 9x²).
keyword as materialized (
    select matched.node_id, share, round(min(1.0, bulk * (27 + bulk * bulk) / (27 + 9 * bulk * bulk)), 12) as similarity,
           round(min(1.0, rest * (27 + rest * rest) / (27 + 9 * rest * rest)), 12) as rest,
           row_number() over (order by whole desc, bulk desc, node.key) as place
    from matched
    join node on node.id = matched.node_id
    where matched.node_id in (select node_id from telling)
       or exists (select 1 from telling) and bulk >= :keyword_tail * (select max(bulk) from matched)
    order by whole desc, bulk desc, node.key
    limit :pool
),
-- Entity arm: the texts that mention what the question names, by how few others do; those that are about it first. Each entity
-- comes as [id, weight, place]: one that is only near in meaning weighs less; `place` is that of the word that is its whole name in
-- the question. `news` is what the keyword arm does not know yet: a text that holds such a name was found by that word. A title in the
-- question that no other text mentions is no entity: the texts that bear it come as :titled, [id, share].
named as materialized (
    select value ->> 0 as entity_id, value ->> 1 as weight, value ->> 2 as place, node.degree
    from json_each(:entities) join node on node.id = value ->> 0
),
mentioning as (
    select neighbor.other_id as node_id, neighbor.kind = 'about' as about, named.place, 0.0 as title,
           named.weight * min(1.0, 2.0 / named.degree) as similarity
    from named
    cross join neighbor on neighbor.node_id = named.entity_id and neighbor.kind in ('mentions', 'about')
    where named.degree <= :entity_degree
    union all
    select value ->> 0, 0, null, value ->> 1, 0.0 from json_each(:titled)
),
entity as materialized (
    select mentioning.node_id, max(similarity) as similarity, max(title) as title,
           max(iif(not about and (mentioning.node_id, mentioning.place) in (select node_id, place from posting), 0.0, similarity)) as news,
           row_number() over (order by max(similarity) desc, max(about) desc, node.key) as place
    from mentioning
    join node on node.id = mentioning.node_id
    where :allowed is null or mentioning.node_id in (select node_id from allowed)
    group by mentioning.node_id
    order by place
    limit :pool
),
-- What each arm says of a text, side by side.
found as (
    select node_id, max(near) as near, max(near_place) as near_place,
           max(keyword) as keyword, max(rest) as rest, max(share) as share, max(keyword_place) as keyword_place,
           max(entity) as entity, max(title) as title, max(news) as news, max(entity_place) as entity_place
    from (
        select node_id, similarity as near, place as near_place, null as keyword, null as rest, null as share, null as keyword_place,
               null as entity, null as title, null as news, null as entity_place
        from near
        union all
        select node_id, null, null, similarity, rest, share, place, null, null, null, null from keyword
        union all
        select node_id, null, null, null, null, null, null, similarity, title, news, place from entity
    )
    group by node_id
),
-- Fusion. Where one arm alone is on, its similarity is the score. Of two, 1 - (1 - vector)(1 - keyword) in a small store. Similarities
-- of the two mean different things in every store and question, so in a large one each is measured against the other candidates:
-- how many deviations it lies above their mean; :spread_texts unrelated texts count as candidates as well. In between, the scores
-- are mixed by how many of :pool_texts candidates there are. A text that the vector arm did not find is as far as the farthest it did.
candidate as materialized (
    select *, near is not null or keyword is not null as is_candidate, coalesce(near, (select min(similarity) from near)) as far,
           coalesce(keyword, 0.0) as bulk, coalesce(iif(node_id in (select value from json_each(:bearers)), null, rest), keyword, 0.0) as own_bulk
    from found
),
mean as materialized (
    select (total(far) + :spread_texts * :vector_mean) / (count(*) + :spread_texts) as vector_mean,
           (total(bulk) + :spread_texts * :keyword_mean) / (count(*) + :spread_texts) as keyword_mean,
           count(*) + :spread_texts as texts, min(1.0, 1.0 * count(*) / :pool_texts) as largeness,
           coalesce((select max(similarity) from near), 0.0) as nearest,
           coalesce((select max(share) from matched where share >= min(:keyword_strong, :keyword_weak, :keyword_alone)), 0.0) as most_share,
           exists (select 1 from entity where similarity >= :entity_telling) as is_named,
           exists (select 1 from entity where title >= :entity_telling) as is_titled
    from candidate
    where is_candidate
),
deviation as materialized (
    select :scale * (total(abs(far - vector_mean)) + :spread_texts * :vector_deviation) / texts as vector_deviation,
           :scale * (total(abs(bulk - keyword_mean)) + :spread_texts * :keyword_deviation) / texts as keyword_deviation
    from mean left join candidate on is_candidate
),
answered as materialized (
    select nearest + largeness * (:answer_words * (most_share - :keyword_strong) + :answer_named * is_named)
               >= :vector_floor + largeness * (:answer_floor - :vector_floor)
           or most_share >= :keyword_strong + largeness * (:keyword_whole - :keyword_strong)
           or is_named and largeness < 1 or is_titled or not :vector_on or not :keyword_on as is_answered
    from mean
),
-- The two arms' weighted mean, :surprise less, as a logistic: 1 / (1 + exp(-x)), with exp(x) as (1 + x / 16) to the 16th. Words that
-- are taken count for the texts that bear the name alone.
mixed as materialized (
    select candidate.*, largeness, iif(near >= :vector_floor, near, null) as vector,
           iif(is_candidate, max(0.0, 1 + (:vector_share * coalesce((far - vector_mean) / vector_deviation, 0)
                                           + (1 - :vector_share) * (own_bulk - keyword_mean) / keyword_deviation
                                           - :surprise) / 16), null) as root
    from candidate join mean join deviation
    where (near >= :vector_floor or keyword is not null or entity is not null) and (select is_answered from answered)
),
-- That the question names something that a text mentions speaks for it beside that: 1 - (1 - mixed)(1 - entity). In a large store
-- only the news of it does; from :pool_texts candidates on, a title that the question has.
-- Whether anything answers the question at all, `is_answered` says. In a small store a text that is near does, or one that holds half
-- of its words, or one of few that mention what it names. Of many texts some are one of these by chance, so in a large store they are
-- added up: the nearest similarity, :answer_words for a share of words above a half (less than that takes away), :answer_named; the
-- sum has to reach :answer_floor. Nearly all words of the question, or a title that it has, are enough by themselves.
scored as materialized (
    select node_id,
           case :vector_share when 0 then keyword when 1 then vector
                else largeness * (fourth * fourth * fourth * fourth / (1 + fourth * fourth * fourth * fourth))
                     + (1 - largeness) * (1 - (1 - coalesce(vector, 0)) * (1 - coalesce(keyword, 0)))
                end as mixed,
           1 - (1 - :entity_weight * iif(:keyword_on, largeness * news + (1 - largeness) * entity, entity))
               * (1 - :title_weight * (largeness = 1) * title) as evidence,
           iif(vector is null, null, near_place) as vector_place, vector as vector_similarity,
           keyword_place, keyword as keyword_similarity, share as keyword_share,
           iif(entity > 0 or largeness = 1, entity_place, null) as entity_place, max(entity, (largeness = 1) * title) as entity_similarity
    from (select *, root * root * root * root as fourth from mixed)
)
select node.key, round(1 - (1 - coalesce(scored.mixed, 0)) * (1 - coalesce(evidence, 0)), 12) as score,
       vector_place, vector_similarity, keyword_place, keyword_similarity, keyword_share, entity_place, entity_similarity, node.id as node_id
from scored
join node on node.id = scored.node_id
where scored.mixed > 0 or evidence > 0
order by score desc, node.key;
