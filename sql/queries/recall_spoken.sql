-- Which of the texts that a question found did one of these speakers say?
select node.key, speaker.name
from json_each(:keys) as wanted
cross join node on node.key = wanted.value
cross join speaker on speaker.chunk_id = node.id
where speaker.name in (select value from json_each(:speakers))
order by node.key;
