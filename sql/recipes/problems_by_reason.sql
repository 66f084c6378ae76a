-- What could not be read, and for which reasons?
select code, reason, count(*) as files, min(path) as example
from problems
group by code, reason
order by files desc, code, reason;
