-- What a store of schema version 6 had in the tables that this version brought; see test_upgrade.py.
delete from signature;
insert into signature (passage_id, bits) values (1, X'6F');
insert into signature (passage_id, bits) values (2, X'46');
insert into signature (passage_id, bits) values (3, X'F6');
insert into signature (passage_id, bits) values (5, X'30');
insert into signature (passage_id, bits) values (6, X'31');
insert into signature (passage_id, bits) values (7, X'C7');
delete from vec_waiting;
