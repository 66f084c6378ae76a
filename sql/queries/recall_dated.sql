-- Which texts are of these days, the newest first? For a question that asks for a time and nothing else.
with allowed as materialized (
    select value as node_id from json_each(:allowed)
),
dated as (
    select * from (
        select id as node_id, day from memory
        where day is not null and day >= :start and day < :end and (:allowed is null or id in (select node_id from allowed))
        order by 2 desc limit :most
    )
    union all
    select * from (
        select id, day from chunk
        where day is not null and day >= :start and day < :end and (:allowed is null or id in (select node_id from allowed))
        order by 2 desc limit :most
    )
    union all
    select * from (
        select chunk.id, document.day from document join chunk on chunk.document_id = document.id
        where document.day is not null and document.day >= :start and document.day < :end and chunk.day is null
          and (:allowed is null or chunk.id in (select node_id from allowed))
        order by 2 desc limit :most
    )
)
select node.key from dated join node on node.id = dated.node_id order by dated.day desc, node.key limit :most;
