-- What was written last, by the dates in the files?
select id, coalesce(modified, created, happened_at) as date, description
from memories
where coalesce(modified, created, happened_at) is not null
order by date desc, id
limit 20;
