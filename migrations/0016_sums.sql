-- Checksums over what was made of a text and of what it was made: a rebuild takes over the rows that they still fit.
alter table document add column passages_sum integer; -- over the document and its chunks, as they were cut from the file
alter table chunk add column words_sum integer;       -- over the text and its row in the keyword index
alter table extracted add column evidence_sum integer; -- over the text and what it says: mentions, statements, proposals, names
alter table extracted add column known_sum integer;   -- over that, and the known names that were found in the text
alter table embedded add column windows_sum integer;  -- over the text and its windows
