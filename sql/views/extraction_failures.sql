-- Which texts did a model fail to read, how often and why, and will they be asked about again?
create view extraction_failures as
select node.key as id,                      -- the memory or chunk
       failure.model,                       -- that was asked
       failure.prompt_sha256,               -- of the prompt; under another one a text is asked about anew
       failure.times,                       -- it failed; a text that must not be sent counts as failed too often at once
       failure.reason,                      -- of the last time
       text.indexed_at,                     -- when some model read this text all the same; null where none did
       case when text.indexed_at is not null then 'read since'
            when failure.times >= 3 then 'given up'
            else 'tried again' end as state -- tried again: by the next run; given up: only by `memdb index --rebuild`; read since
from failure
join (
    select id, text_sha256, indexed_at from memory
    union all
    select id, text_sha256, indexed_at from chunk
) as text on text.text_sha256 = failure.text_sha256
join node on node.id = text.id;
