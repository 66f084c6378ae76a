-- Which people who said something in the store does a question name? By the whole name, its first word where only one is called so,
-- or another name of the same entity. Who said one thing alone is as often a heading. Each name comes as [place in the question, name,
-- folded name]. Runs in any SQLite from 3.40 on.
with asked as materialized (
    select value ->> 0 as place, value ->> 1 as name, value ->> 2 as name_key from json_each(:names)
),
known as materialized (
    select place, name from asked
    union
    select asked.place, entity.name
    from asked join entity_alias using (name_key) join entity on entity.name_key = entity_alias.entity_key
    union
    select asked.place, entity_alias.name from asked join entity_alias on entity_alias.entity_key = asked.name_key
),
found as materialized (
    select place, (select speaker.name from speaker where speaker.name = known.name limit 1) as name from known
    union
    select place, (select min(speaker.name) from speaker where speaker.name > known.name || ' ' and speaker.name < known.name || '!') as name
    from known
    where name = (select max(speaker.name) from speaker where speaker.name > known.name || ' ' and speaker.name < known.name || '!')
)
select distinct place, name
from found
where exists (select 1 from speaker where speaker.name = found.name limit 1 offset 1)
order by 1, 2;
