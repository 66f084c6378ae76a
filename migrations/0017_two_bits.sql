-- The virtual table `vec_passage` has a second bit for each dimension now: the next sync makes it anew.
insert or replace into meta values ('vec_stale', '1');
