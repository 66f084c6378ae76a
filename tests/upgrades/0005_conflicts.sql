-- What a store of schema version 5 had in the tables that this version brought; see test_upgrade.py.
delete from conflict;
delete from conflict_side;
delete from conflict_touched;
