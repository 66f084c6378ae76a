-- One bit per dimension of every passage's vector, set where it is positive: the candidates of the vector arm. A plain table, which
-- SQLite reads through in a fifth of the time that sqlite-vec's own index takes to give as many candidates, which deletes
-- with the passage in any SQLite, and which a process without sqlite-vec can keep too.
create table signature (
    passage_id integer primary key references passage (id) on delete cascade,
    bits       blob not null            -- as vec_quantize_binary gives them
) strict;

-- Passages whose bits changed since the virtual table `vec_passage`, which has the same bits for whoever asks by `match`, was
-- brought up to them: a program without sqlite-vec leaves that to one that has it.
create table vec_waiting (
    passage_id integer primary key
) strict;
create trigger signature_inserted after insert on signature begin
    insert into vec_waiting values (new.passage_id) on conflict do nothing;
end;
create trigger signature_deleted after delete on signature begin
    insert into vec_waiting values (old.passage_id) on conflict do nothing;
end;

-- The ids alone are to say what waits: no text that changed has kept its row.
delete from embedded where node_id not in (select node_id from passage);
insert or replace into meta values ('vec_stale', '1');
