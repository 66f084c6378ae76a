-- In how many texts does each word of a question stand?
select term, doc
from fts_term
where term in (select value from json_each(:terms));
