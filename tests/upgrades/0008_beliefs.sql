-- What a store of schema version 8 had in the tables that this version brought; see test_upgrade.py.
delete from sentence;
insert into sentence (node_id, form, value, mark) values (1, -4201084965118991428, 'polarity ', 2194184620);
insert into sentence (node_id, form, value, mark) values (2, -229219110526654726, 'polarity ', 3890109139);
insert into sentence (node_id, form, value, mark) values (5, 2733749832643497708, 'number 5', 3082566392);
insert into sentence (node_id, form, value, mark) values (5, 8956598390852201738, 'polarity ', 3082566392);
delete from sentence_touched;
delete from conflict_stale;
delete from clash;
delete from resolution;
delete from resolution_pair;
