-- What a store of schema version 2 had in the tables that this version brought; see test_upgrade.py.
insert into node (id, kind, key, label, degree) values (10, 'document', 'document:docs/guide.txt', 'guide.txt', 0);
insert into node (id, kind, key, label, degree) values (11, 'chunk', 'document:docs/guide.txt#1', '', 0);
insert into fts (rowid, name, description, tags, body, parts) values (11, '', '', '', 'Quay guide

Ships of the Harbour Office moor at berth nine.', '');
insert into fts_length (node_id, words) values (11, 11);
insert into embedding (model, text_sha256, vector) values ('fake/words@1', '402b3b9110f4d2368076cc171cb745043358201bca12d12e08a90c3f25b294ca', X'1CAA62BE74181ABFF1C7BCBEC444D2BEAA7F813E53DE983DADE9B7BE4CB595BE');
insert into passage (id, node_id, ordinal, start, stop, model, text_sha256) values (5, 11, 0, 0, 59, 'fake/words@1', '402b3b9110f4d2368076cc171cb745043358201bca12d12e08a90c3f25b294ca');
insert into embedded (node_id, model, text_sha256) values (11, 'fake/words@1', '402b3b9110f4d2368076cc171cb745043358201bca12d12e08a90c3f25b294ca');
delete from addition;
insert into addition (path, excluded) values ('docs', 0);
delete from document;
insert into document (id, sha256, suffix, format, title, created, extractor, cutter, notes, state) values (10, '8f1a84172bdc63d96d38638c2d64cf5f475dfc9e9f63c202d06c5b32e7f1bfcc', '.txt', 'text', NULL, NULL, 'text 1', 'fake/words@1', '[]', 'seen');
delete from place;
insert into place (path, document_id, size, mtime_ns, ctime_ns, sha256, state) values ('docs/guide.txt', 10, 60, -1, -1, '8f1a84172bdc63d96d38638c2d64cf5f475dfc9e9f63c202d06c5b32e7f1bfcc', 'seen');
delete from chunk;
insert into chunk (id, document_id, ordinal, heading_path, prefix, text, page, start_line, end_line, record_id, title, created, identity, text_sha256, has_secret, indexed_at) values (11, 10, 0, '[]', '', 'Quay guide

Ships of the Harbour Office moor at berth nine.', NULL, 1, 3, NULL, NULL, NULL, 'dbee579e0200b5d857290fb0b2e81de07c44ec13f6f9fd6817dd67c69e92f6d9', '402b3b9110f4d2368076cc171cb745043358201bca12d12e08a90c3f25b294ca', 0, '1796036819543-00000');
update node set degree = (select count(distinct other_id) from neighbor where node_id = node.id);
update fts_total set (texts, words) = (select count(*), coalesce(sum(words), 0) from fts_length);
