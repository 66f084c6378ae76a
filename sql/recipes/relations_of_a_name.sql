-- What do texts say of a name?
select subject, predicate, object, confidence, sources
from relations
where 'entity:' || lower(:name) in (subject, object)
order by predicate, subject, object;
