-- Which passages have the documents, and where does each stand?
create view chunks as
select node.key as id,                      -- document:path#ordinal, or #the record's id
       document_node.key as document,       -- document:path
       chunk.ordinal + 1 as ordinal,        -- place in the document, from 1
       chunk.heading_path,                  -- JSON list, outermost first
       chunk.page,                          -- of a PDF
       chunk.start_line,                    -- of the file, from 1
       chunk.end_line,                      -- of the file
       chunk.record_id,                     -- of a line of a JSONL file
       coalesce(chunk.day, document.day) as day, -- of the record, else of its document
       speaker.name as speaker,             -- who says it, of a turn of a conversation
       strftime('%Y-%m-%dT%H:%M:%SZ', cast(substr(chunk.indexed_at, 1, 13) as integer) / 1000,
                'unixepoch') as indexed_at, -- when a model read this text; null where none did
       chunk.has_secret,                    -- 1: redacted, never embedded
       chunk.text                           -- secrets redacted
from chunk
join node on node.id = chunk.id
join node as document_node on document_node.id = chunk.document_id
join document on document.id = chunk.document_id
left join speaker on speaker.chunk_id = chunk.id;
