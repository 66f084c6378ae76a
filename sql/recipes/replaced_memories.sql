-- What was replaced, and what stands in its place?
select superseded.id, superseded.superseded_by, memories.description
from superseded
left join memories on memories.id = superseded.superseded_by
order by superseded.id;
