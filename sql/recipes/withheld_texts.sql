-- Which texts look like they hold a credential?
select id, file as place
from memories
where has_secret
union all
select id, document
from chunks
where has_secret
order by id;
