-- What is not embedded or not read by a model yet?
select index_status.id, index_status.vectors, memories.indexed_at
from index_status
join memories on memories.id = index_status.id
where index_status.vectors = 'waiting' or memories.indexed_at is null
order by index_status.id;
