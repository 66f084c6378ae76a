-- What could not be read or understood?
create view problems as
select path, line, code, reason
from problem;
