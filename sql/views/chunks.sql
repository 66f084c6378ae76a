-- Which passages have the documents, and where does each stand?
create view chunks as
select node.key as id,                      -- document:path#ordinal, or #the record's id
       document_node.key as document,
       chunk.ordinal + 1 as ordinal,
       chunk.heading_path,                  -- JSON list, outermost first
       chunk.page,
       chunk.start_line,
       chunk.end_line,
       chunk.record_id,
       -- When a model read this text; null where none did.
       strftime('%Y-%m-%dT%H:%M:%SZ', cast(substr(chunk.indexed_at, 1, 13) as integer) / 1000, 'unixepoch') as indexed_at,
       chunk.has_secret,                    -- 1: redacted, never embedded
       chunk.text
from chunk
join node on node.id = chunk.id
join node as document_node on document_node.id = chunk.document_id;
