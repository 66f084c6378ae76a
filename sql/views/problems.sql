-- What could not be read or understood, in memories and in documents?
create view problems as
select path, line, code, reason
from (
    select path, line, code, reason from problem
    union all
    select (select min(path) from place where place.document_id = document.id), null, 'note', value
    from document, json_each(document.notes)
);
