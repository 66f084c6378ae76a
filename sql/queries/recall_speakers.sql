-- Which people who said something in the store does a question name? By the whole name, its first word where only one is called so,
-- or another name of the same entity. Each name comes as [place in the question, name, folded name]. Runs in any SQLite from 3.40 on.
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
)
select place, (select speaker.name from speaker where speaker.name = known.name limit 1) as speaker
from known
where speaker is not null
union
select place, (select min(speaker.name) from speaker where speaker.name > known.name || ' ' and speaker.name < known.name || '!') as speaker
from known
where speaker = (select max(speaker.name) from speaker where speaker.name > known.name || ' ' and speaker.name < known.name || '!')
order by 1, 2;
