-- What a store of schema version 12 had in the tables that this version brought; see test_upgrade.py.
delete from near_key;
delete from near_meeting;
delete from near_changed;
insert into near_changed (entity_id) values (12);
insert into near_changed (entity_id) values (7);
insert into near_changed (entity_id) values (8);
insert into near_changed (entity_id) values (9);
