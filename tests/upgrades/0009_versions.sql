-- What a store of schema version 9 had in the tables that this version brought; see test_upgrade.py.
delete from memory_sign;
insert into memory_sign (sign, memory_id) values (553964701793666961, 3);
insert into memory_sign (sign, memory_id) values (6070512370627466937, 2);
insert into memory_sign (sign, memory_id) values (6629041266136308560, 1);
insert into memory_sign (sign, memory_id) values (7507978179592757972, 3);
insert into memory_sign (sign, memory_id) values (9085431625694430885, 5);
delete from memory_birth;
delete from version_fts;
insert into version_fts (rowid, name, description, tags, body, parts) values (1, 'tea', '', 'drinks sencha', 'Green tea is drunk at four.
', '');
delete from version_length;
insert into version_length (version_id, words) values (1, 9);
delete from judgement;
delete from judged_alone;
