-- Which documents are the longest, and are their files still there?
select documents.id, documents.title, documents.state, documents.chunks, sum(length(chunks.text)) as characters
from documents
left join chunks on chunks.document = documents.id
group by documents.id
order by characters desc, documents.id
limit 20;
