-- What a store of schema version 13 had in the tables that this version brought; see test_upgrade.py.
-- Its two passages are no turns of a conversation.
delete from speaker;
