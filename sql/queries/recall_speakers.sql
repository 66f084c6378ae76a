-- Which people who said something in the store does a question name? By the whole name, its first word where only one is called so,
-- or another name of the same entity. Who said one thing alone is as often a heading. Each name comes as [place in the question, name,
-- folded name]. Runs in any SQLite from 3.40 on.
with asked as materialized (
    select value ->> 0 as place, value ->> 1 as asked, value ->> 2 as name_key from json_each(:names)
),
known as materialized (
    select place, asked, asked as name from asked
    union all
    select asked.place, asked.asked, entity.name
    from asked join entity_alias using (name_key) join entity on entity.name_key = entity_alias.entity_key
    union all
    select asked.place, asked.asked, entity_alias.name from asked join entity_alias on entity_alias.entity_key = asked.name_key
),
found as materialized (
    select place, asked, (select speaker.name from speaker where speaker.name = known.name limit 1) as said from known
    union all
    select place, asked, (select min(speaker.name) from speaker where speaker.name > known.name || ' ' and speaker.name < known.name || '!') as said
    from known
    where said = (select max(speaker.name) from speaker where speaker.name > known.name || ' ' and speaker.name < known.name || '!')
)
select distinct place, said, asked
from found
where said is not null and exists (select 1 from speaker where speaker.name = found.said limit 1 offset 1)
order by 1, 2, 3;
