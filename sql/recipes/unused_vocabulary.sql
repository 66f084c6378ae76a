-- Which types and predicates does nothing use?
select kind, name, state
from vocabulary_usage
where uses = 0
order by kind, name;
