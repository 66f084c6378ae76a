-- Which name does each text mention, those included that make no edge because the vocabulary lacks their type?
create view mentions_all as
select text.key as source,                  -- id of the memory or chunk
       mention.name_key,                    -- folded: how names are told apart
       mention.name,                        -- as written
       mention.type,                        -- as this text has it; null: not sure
       mention.origin,                      -- model, rules, names
       mention.source as found_as,          -- answer, identifier, proper, known, subject
       mention.about,                       -- 1: the text bears the name itself
       mention.refused,                     -- 1: its type was disabled when a model gave it
       strftime('%Y-%m-%dT%H:%M:%SZ', cast(substr(nullif(mention.at, ''), 1, 13) as integer) / 1000,
                'unixepoch') as at -- when a model gave it; null where none did
from mention
join node as text on text.id = mention.node_id;
