-- What a store of schema version 7 had in the tables that this version brought; see test_upgrade.py.
insert into known_name (match_key, name_key, entity_key, source, node_id, name) values ('gdynia port', 'gdynia port', 'gdynia port', 'decided', 0, 'Gdynia Port');
delete from decision;
insert into decision (ref, id, at, writer, by, kind, action, subject, detail, why, seen, state, reason, contradicts) values ('1796036820633-00000/730d97cbaa36', 'f22f419d8d', '2026-11-30T11:07:00Z', '730d97cbaa36', 'root', 'curation', 'rename', 'entity:gdynia', '{"entity": "gdynia", "label": "Gdynia", "name": "Gdynia Port"}', NULL, '[]', 'standing', NULL, '[]');
delete from entity_decision;
insert into entity_decision (anchor, entity_key, part_of, name, type, deleted) values ('gdynia', 'gdynia port', NULL, 'Gdynia Port', NULL, 0);
delete from entity_distinct;
