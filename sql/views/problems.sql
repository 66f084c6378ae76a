-- What could not be read or understood, in memories and in documents?
create view problems as
select path,                                -- relative to the root
       line,                                -- of the file; null where the whole is concerned
       code,                                -- what kind of problem it is, in one word
       reason                               -- in a sentence
from (
    select path, line, code, reason from problem
    union all
    select (select min(path) from place where place.document_id = document.id), null, 'note', value
    from document, json_each(document.notes)
);
