-- What a store of schema version 1 had in the tables that this version brought; see test_upgrade.py.
insert into meta values ('clusters', 'f9b2305e95c1087d3f54a09864c7d3e7b65b5800a4cb5da976bcb26e6c67bca9');
insert into meta values ('dims', '8');
insert into meta values ('model', 'fake/words@1');
insert into meta values ('read_whole', '1');
delete from source;
insert into source (id, path, kind, size, mtime_ns, ctime_ns, sha256, state) values (1, 'feedback/lists.md', 'memory', 24, -1, -1, '1577df7fc0bd662479b2f5c5106fd6153e658d79c482ea138c72eb9c0e47d1b2', 'seen');
insert into source (id, path, kind, size, mtime_ns, ctime_ns, sha256, state) values (2, 'feedback/tables.md', 'memory', 77, -1, -1, 'f03dbaaf4f6e22be5d4c03098c4384b362b872c2a1a1105dd9108906c1a32636', 'seen');
insert into source (id, path, kind, size, mtime_ns, ctime_ns, sha256, state) values (3, 'user/ines.md', 'memory', 94, -1, -1, '89417277046469d23c346a6243c1fce6c37ec12c70826ae1dd272f55b2dcfda7', 'seen');
insert into source (id, path, kind, size, mtime_ns, ctime_ns, sha256, state) values (4, 'user/tea.md', 'memory', 69, -1, -1, 'e1df4c66ca861c364624290c958eb18e7336774280099085aad6fd929e83db93', 'seen');
delete from problem;
delete from node;
insert into node (id, kind, key, label, degree) values (1, 'memory', 'feedback/lists', 'lists', 0);
insert into node (id, kind, key, label, degree) values (2, 'memory', 'feedback/tables', 'tables', 0);
insert into node (id, kind, key, label, degree) values (3, 'memory', 'user/ines', 'ines', 0);
insert into node (id, kind, key, label, degree) values (4, 'tag', 'tag:people', 'people', 0);
insert into node (id, kind, key, label, degree) values (5, 'memory', 'user/tea', 'tea', 0);
insert into node (id, kind, key, label, degree) values (6, 'tag', 'tag:drinks', 'drinks', 0);
delete from memory;
insert into memory (id, source_id, base_key, type, name, title, description, head, body, body_line, frontmatter, tags, aliases, created, modified, happened_at, valid_from, valid_to, graph_sha256, text_sha256, has_secret) values (1, 1, 'feedback/lists', 'feedback', 'lists', NULL, '', '', 'Options go into a list.
', 1, '{}', '[]', '[]', NULL, NULL, NULL, NULL, NULL, '629b21e31d4093b8d25811c386b77e957658f067d1290cc112cd905cec0b3111', 'b91d4648c8413e4dccc7dae2c08cb10e036a3d998bb9650ae7f947b00f3a2dab', 0);
insert into memory (id, source_id, base_key, type, name, title, description, head, body, body_line, frontmatter, tags, aliases, created, modified, happened_at, valid_from, valid_to, graph_sha256, text_sha256, has_secret) values (2, 2, 'feedback/tables', 'feedback', 'tables', NULL, '', '---
supersedes: feedback/lists
---
', 'Options go into a table. See [[nowhere]].
', 4, '{"supersedes": "feedback/lists"}', '[]', '[]', NULL, NULL, NULL, NULL, NULL, '0138b2c11140a0b81502f23000104d7bd7443252c537d646ad5e89a42ccbf49b', 'fdad76f3d0976df97a00963affcdc18d69ee0043c13db9500b2bf460b0ef4ef4', 0);
insert into memory (id, source_id, base_key, type, name, title, description, head, body, body_line, frontmatter, tags, aliases, created, modified, happened_at, valid_from, valid_to, graph_sha256, text_sha256, has_secret) values (3, 3, 'user/ines', 'user', 'ines', NULL, 'who Ines is', '---
description: who Ines is
tags: [people]
---
', 'Ines Okafor sails out of Gdynia. See [[tea]].
', 5, '{"description": "who Ines is", "tags": ["people"]}', '["people"]', '[]', NULL, NULL, NULL, NULL, NULL, 'd035cd010ff60f99b82b41d090e65356f0365cfcc3b0859f883f4959dbf553af', 'ed81fbacd07efcaf864622e241e11ab3ed18873f869892c2aa4b26f631b5aab6', 0);
insert into memory (id, source_id, base_key, type, name, title, description, head, body, body_line, frontmatter, tags, aliases, created, modified, happened_at, valid_from, valid_to, graph_sha256, text_sha256, has_secret) values (5, 4, 'user/tea', 'user', 'tea', NULL, '', '---
tags: [drinks]
aliases: [sencha]
---
', 'Green tea is drunk at five.
', 5, '{"tags": ["drinks"], "aliases": ["sencha"]}', '["drinks"]', '["sencha"]', NULL, NULL, NULL, NULL, NULL, 'ff1f4bb9bdbb8634cdd43336bc0b90820d5e376789d4ce70fa18aec340f7439f', 'f916da6df811618a220313d2cb0425fd856506710194cf5cc99f2ae3fb67f25e', 0);
delete from memory_key;
insert into memory_key (key, memory_id) values ('feedback/lists', 1);
insert into memory_key (key, memory_id) values ('feedback/tables', 2);
insert into memory_key (key, memory_id) values ('ines', 3);
insert into memory_key (key, memory_id) values ('lists', 1);
insert into memory_key (key, memory_id) values ('sencha', 5);
insert into memory_key (key, memory_id) values ('tables', 2);
insert into memory_key (key, memory_id) values ('tea', 5);
insert into memory_key (key, memory_id) values ('user/ines', 3);
insert into memory_key (key, memory_id) values ('user/tea', 5);
delete from memory_version;
insert into memory_version (id, memory_key, at, sha256, reason, text, withheld) values (1, 'user/tea', '1796036819850-00000', 'd3f557f70c9539b082e60e2620c1063c831d10e1dd2fde3024497d0067eeeadc', 'saved', '---
tags: [drinks]
aliases: [sencha]
---
Green tea is drunk at four.
', NULL);
delete from tombstone;
delete from link;
insert into link (id, memory_id, kind, raw, target, heading, block, label, embed, line, status, target_id, how, candidates) values (1, 2, 'wikilink', '[[nowhere]]', 'nowhere', NULL, NULL, NULL, 0, 4, 'unresolved', NULL, NULL, '[]');
insert into link (id, memory_id, kind, raw, target, heading, block, label, embed, line, status, target_id, how, candidates) values (2, 2, 'supersedes', 'feedback/lists', 'feedback/lists', NULL, NULL, NULL, 0, NULL, 'resolved', 1, 'exact', '["feedback/lists"]');
insert into link (id, memory_id, kind, raw, target, heading, block, label, embed, line, status, target_id, how, candidates) values (3, 3, 'wikilink', '[[tea]]', 'tea', NULL, NULL, NULL, 0, 5, 'resolved', 5, 'exact', '["user/tea"]');
delete from link_key;
insert into link_key (key, link_id) values ('feedback/lists', 2);
insert into link_key (key, link_id) values ('nowhere', 1);
insert into link_key (key, link_id) values ('tea', 3);
delete from edge;
insert into edge (id, src, dst, kind, predicate, weight, active) values (1, 3, 4, 'has_tag', '', 0.8, 1);
insert into edge (id, src, dst, kind, predicate, weight, active) values (2, 5, 6, 'has_tag', '', 0.8, 1);
insert into edge (id, src, dst, kind, predicate, weight, active) values (3, 2, 1, 'supersedes', '', 0.9, 1);
insert into edge (id, src, dst, kind, predicate, weight, active) values (4, 3, 5, 'links_to', '', 0.7, 1);
delete from neighbor;
insert into neighbor (node_id, other_id, edge_id, kind, weight) values (1, 2, 3, 'supersedes', 0.9);
insert into neighbor (node_id, other_id, edge_id, kind, weight) values (2, 1, 3, 'supersedes', 0.9);
insert into neighbor (node_id, other_id, edge_id, kind, weight) values (3, 4, 1, 'has_tag', 0.8);
insert into neighbor (node_id, other_id, edge_id, kind, weight) values (3, 5, 4, 'links_to', 0.7);
insert into neighbor (node_id, other_id, edge_id, kind, weight) values (4, 3, 1, 'has_tag', 0.8);
insert into neighbor (node_id, other_id, edge_id, kind, weight) values (5, 3, 4, 'links_to', 0.7);
insert into neighbor (node_id, other_id, edge_id, kind, weight) values (5, 6, 2, 'has_tag', 0.8);
insert into neighbor (node_id, other_id, edge_id, kind, weight) values (6, 5, 2, 'has_tag', 0.8);
delete from fts;
insert into fts (rowid, name, description, tags, body, parts) values (1, 'lists', '', '', 'Options go into a list.
', '');
insert into fts (rowid, name, description, tags, body, parts) values (2, 'tables', '', '', 'Options go into a table. See [[nowhere]].
', '');
insert into fts (rowid, name, description, tags, body, parts) values (3, 'ines', 'who Ines is', 'people', 'Ines Okafor sails out of Gdynia. See [[tea]].
', '');
insert into fts (rowid, name, description, tags, body, parts) values (5, 'tea', '', 'drinks sencha', 'Green tea is drunk at five.
', '');
delete from fts_length;
insert into fts_length (node_id, words) values (1, 6);
insert into fts_length (node_id, words) values (2, 8);
insert into fts_length (node_id, words) values (3, 13);
insert into fts_length (node_id, words) values (5, 9);
delete from fts_total;
insert into fts_total values (1, 0, 0);
delete from embedding;
insert into embedding (model, text_sha256, vector) values ('fake/words@1', 'b91d4648c8413e4dccc7dae2c08cb10e036a3d998bb9650ae7f947b00f3a2dab', X'60B68A3E72EBC13E200DDE3EE033D23BCF241ABE76C08D3E35CC543DD3BF33BF');
insert into embedding (model, text_sha256, vector) values ('fake/words@1', 'ed38df42089e67ec0c139bc5da01b8df2f8b3eddfe1ec8fbf5de014bbd3fe1b9', X'C94E893B90AC2E3FCAA98D3E83C711BEDB9FC1BE039DC6BD52BE073F0BCB813D');
insert into embedding (model, text_sha256, vector) values ('fake/words@1', 'ed81fbacd07efcaf864622e241e11ab3ed18873f869892c2aa4b26f631b5aab6', X'51E55FBD0296713E002C033BD7D532BE34501B3EB682453E0BC73C3FCDCF0D3F');
insert into embedding (model, text_sha256, vector) values ('fake/words@1', 'f916da6df811618a220313d2cb0425fd856506710194cf5cc99f2ae3fb67f25e', X'39EE043D9F8E4B3FA9B3893D6CA105BD4D9B25BEFF7258BD4966133F52ABCE3C');
insert into embedding (model, text_sha256, vector) values ('fake/words@1', 'fdad76f3d0976df97a00963affcdc18d69ee0043c13db9500b2bf460b0ef4ef4', X'E9C6BDBE787D813D3AF9193F44FD74BD897B3EBE7A3760BDB372653E6F0323BF');
delete from passage;
insert into passage (id, node_id, ordinal, start, stop, model, text_sha256) values (1, 1, 0, 0, 29, 'fake/words@1', 'b91d4648c8413e4dccc7dae2c08cb10e036a3d998bb9650ae7f947b00f3a2dab');
insert into passage (id, node_id, ordinal, start, stop, model, text_sha256) values (2, 2, 0, 0, 48, 'fake/words@1', 'fdad76f3d0976df97a00963affcdc18d69ee0043c13db9500b2bf460b0ef4ef4');
insert into passage (id, node_id, ordinal, start, stop, model, text_sha256) values (3, 3, 0, 0, 62, 'fake/words@1', 'ed81fbacd07efcaf864622e241e11ab3ed18873f869892c2aa4b26f631b5aab6');
insert into passage (id, node_id, ordinal, start, stop, model, text_sha256) values (7, 5, 0, 0, 31, 'fake/words@1', 'f916da6df811618a220313d2cb0425fd856506710194cf5cc99f2ae3fb67f25e');
delete from embedded;
insert into embedded (node_id, model, text_sha256) values (1, 'fake/words@1', 'b91d4648c8413e4dccc7dae2c08cb10e036a3d998bb9650ae7f947b00f3a2dab');
insert into embedded (node_id, model, text_sha256) values (2, 'fake/words@1', 'fdad76f3d0976df97a00963affcdc18d69ee0043c13db9500b2bf460b0ef4ef4');
insert into embedded (node_id, model, text_sha256) values (3, 'fake/words@1', 'ed81fbacd07efcaf864622e241e11ab3ed18873f869892c2aa4b26f631b5aab6');
insert into embedded (node_id, model, text_sha256) values (5, 'fake/words@1', 'f916da6df811618a220313d2cb0425fd856506710194cf5cc99f2ae3fb67f25e');
delete from cluster;
update node set degree = (select count(distinct other_id) from neighbor where node_id = node.id);
update fts_total set (texts, words) = (select count(*), coalesce(sum(words), 0) from fts_length);
