-- What do texts disagree about, and which text says what?
select *
from open_conflicts
order by conflict;
