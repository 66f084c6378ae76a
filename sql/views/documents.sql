-- Which documents does the store mirror?
create view documents as
select node.key as id,                      -- document:path
       node.label as title,                 -- as the document calls itself, else its file name
       document.format,                     -- markdown, pdf, html, …
       document.state,                      -- seen, missing
       (select count(*) from chunk where chunk.document_id = document.id) as chunks, -- how many passages it is cut into
       (select json_group_array(path) from place where place.document_id = document.id) as places, -- JSON: identical files
       (select min(link) from place join snapshot using (path) where place.document_id = document.id) as link, -- of a page
       document.notes                       -- JSON list: what a reader should know
from document
join node on node.id = document.id;
