-- What a store of schema version 3 had in the tables that this version brought; see test_upgrade.py.
insert into node (id, kind, key, label, degree) values (13, 'document', 'document:upload://upload.txt', 'upload.txt', 0);
insert into node (id, kind, key, label, degree) values (14, 'chunk', 'document:upload://upload.txt#1', '', 0);
insert into fts (rowid, name, description, tags, body, parts) values (14, '', '', '', 'An upload about the north pier.', '');
insert into fts_length (node_id, words) values (14, 6);
insert into embedding (model, text_sha256, vector) values ('fake/words@1', '9b9bc78b077a3ec862c8c2dbe38bf748c8a504c2b23c081fb647327663af2d13', X'4D8C083FB6325BBEB62416BE2F6207BFE9C9063F9B54F93DABD807BE886D78BE');
insert into passage (id, node_id, ordinal, start, stop, model, text_sha256) values (6, 14, 0, 0, 31, 'fake/words@1', '9b9bc78b077a3ec862c8c2dbe38bf748c8a504c2b23c081fb647327663af2d13');
insert into embedded (node_id, model, text_sha256) values (14, 'fake/words@1', '9b9bc78b077a3ec862c8c2dbe38bf748c8a504c2b23c081fb647327663af2d13');
insert into document (id, sha256, suffix, format, title, created, extractor, cutter, notes, state) values (13, 'c241940d5a5e12ae6eed45e8c725032f22d66c6364ae69eb7a22203bce264337', '.txt', 'text', NULL, NULL, 'text 1', 'fake/words@1', '[]', 'seen');
insert into place (path, document_id, size, mtime_ns, ctime_ns, sha256, state) values ('upload://upload.txt', 13, 32, -1, -1, 'c241940d5a5e12ae6eed45e8c725032f22d66c6364ae69eb7a22203bce264337', 'seen');
insert into chunk (id, document_id, ordinal, heading_path, prefix, text, page, start_line, end_line, record_id, title, created, identity, text_sha256, has_secret, indexed_at) values (14, 13, 0, '[]', '', 'An upload about the north pier.', NULL, 1, 1, NULL, NULL, NULL, '6e16be17c25268374c5c4e24c3734b4b8ce6511e2c6f8d3233878cb3c38421c1', '9b9bc78b077a3ec862c8c2dbe38bf748c8a504c2b23c081fb647327663af2d13', 0, '1796036819642-00000');
delete from snapshot;
insert into snapshot (path, link, sha256, suffix, content_type, fetched_at) values ('upload://upload.txt', NULL, 'c241940d5a5e12ae6eed45e8c725032f22d66c6364ae69eb7a22203bce264337', '.txt', NULL, '2026-11-30T11:06:47Z');
update node set degree = (select count(distinct other_id) from neighbor where node_id = node.id);
update fts_total set (texts, words) = (select count(*), coalesce(sum(words), 0) from fts_length);
