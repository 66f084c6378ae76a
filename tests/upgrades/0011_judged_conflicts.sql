-- What a store of schema version 11 had in the tables that this version brought; see test_upgrade.py.

