-- Which types and predicates did models want that the vocabulary does not have? Independent are different texts.
create view proposals as
with wanted as (
    select unknown.kind, unknown.name_key, mention.node_id
    from (select distinct 'type' as kind, type as name_key from spelling
          where origin = 'model' and type <> ''
            and not exists (select 1 from vocabulary where vocabulary.kind = 'type' and vocabulary.name_key = type)) as unknown
    join mention on mention.type = unknown.name_key and mention.origin = 'model'
    union
    select unknown.kind, unknown.name_key, statement.node_id
    from (select distinct 'predicate' as kind, predicate as name_key from statement
          where not exists (
              select 1 from vocabulary where vocabulary.kind = 'predicate' and vocabulary.name_key = predicate)) as unknown
    join statement on statement.predicate = unknown.name_key
    union
    select proposal_evidence.kind, proposal_evidence.name_key, node_id from proposal_evidence
    where not exists (select 1 from vocabulary
                      where vocabulary.kind = proposal_evidence.kind and vocabulary.name_key = proposal_evidence.name_key)
), counted as (
    select wanted.kind, wanted.name_key, count(distinct coalesce(memory.text_sha256, chunk.text_sha256)) as texts
    from wanted
    left join memory on memory.id = wanted.node_id
    left join chunk on chunk.id = wanted.node_id
    group by wanted.kind, wanted.name_key
    union all
    select kind, name_key, 0 from dismissal
    where not exists (
        select 1 from wanted where wanted.kind = dismissal.kind and wanted.name_key = dismissal.name_key)
)
select counted.kind,                        -- type, predicate
       counted.name_key as name,            -- as it would stand in the vocabulary
       (select description from proposal_evidence
        where proposal_evidence.kind = counted.kind and proposal_evidence.name_key = counted.name_key and description <> ''
        order by at, description limit 1) as description, -- as a model gave it first
       counted.texts,                       -- different texts that ask for it
       case when dismissal.kind is not null then 'dismissed'
            when counted.texts >= 2 then 'pending'
            else 'waiting' end as state     -- waiting: one text alone asked for it
from counted
left join dismissal on dismissal.kind = counted.kind and dismissal.name_key = counted.name_key;
