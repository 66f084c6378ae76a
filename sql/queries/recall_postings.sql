-- In which texts does each word of a question stand, and in which of their fields? One row for each of :terms, with a number for each
-- time that it stands somewhere: eight times the text, and the field. As one text of numbers, since to give ten thousand rows takes
-- several times as long. Runs in any SQLite from 3.40 on.
select (
    select group_concat(doc * 8 + case col when 'body' then 0 when 'name' then 1 when 'description' then 2 when 'tags' then 3 else 4 end)
    from fts_instance where fts_instance.term = asked.value)
from json_each(:terms) as asked
order by asked.key;
