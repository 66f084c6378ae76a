-- Which memories were valid only until a day that has passed?
select id, valid_to, description
from memories
where valid_to < date('now')
order by valid_to, id;
