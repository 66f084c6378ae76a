-- Which memories say nothing of their time?
select id, file
from memories
where coalesce(created, modified, happened_at, valid_from, valid_to) is null
order by id;
