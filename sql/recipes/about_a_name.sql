-- Which texts mention a name, and in which words?
select mentions.source, mentions.name, mentions.about
from mentions
join entities on entities.id = mentions.entity
where entities.id = 'entity:' || lower(:name)
order by mentions.about desc, mentions.source;
