-- What texts contradict one another in: one subject and one single-valued predicate with two objects or more. It follows
-- from the statements of texts, and goes when they agree again.

create table conflict (
    key        text primary key,        -- short name, made from the subject and the predicate
    subject_id integer not null references entity (id) on delete cascade,
    predicate  text not null,
    unique (subject_id, predicate)
) strict, without rowid;

-- One row for each object and text that states it, surely enough.
create table conflict_side (
    conflict_key text not null references conflict (key) on delete cascade,
    object_id    integer not null references entity (id) on delete cascade,
    node_id      integer not null references node (id) on delete cascade,
    confidence   real not null,
    primary key (conflict_key, object_id, node_id)
) strict, without rowid;
create index conflict_side_object on conflict_side (object_id);
create index conflict_side_node on conflict_side (node_id);

-- Subjects one of whose relations came or went while entities were derived.
create table conflict_touched (
    subject_id integer primary key
) strict;
create trigger conflict_relation_inserted after insert on edge when new.kind = 'relates' begin
    insert into conflict_touched values (new.src) on conflict do nothing;
end;
create trigger conflict_relation_deleted after delete on edge when old.kind = 'relates' begin
    insert into conflict_touched values (old.src) on conflict do nothing;
end;

-- What a replaced memory states contradicts nothing any more.
create trigger conflict_supersedes_inserted after insert on edge when new.kind = 'supersedes' begin
    insert into statement_touched select subject_key, predicate, object_key from statement where node_id = new.dst
        on conflict do nothing;
end;
create trigger conflict_supersedes_updated after update on edge when new.kind = 'supersedes' begin
    insert into statement_touched select subject_key, predicate, object_key from statement where node_id = new.dst
        on conflict do nothing;
end;
create trigger conflict_supersedes_deleted after delete on edge when old.kind = 'supersedes' begin
    insert into statement_touched select subject_key, predicate, object_key from statement where node_id = old.dst
        on conflict do nothing;
end;
insert into statement_touched select subject_key, predicate, object_key from statement where true on conflict do nothing;

-- What is looked up by type or predicate: usage, proposals, and what a decision about the vocabulary touches.
create index entity_type on entity (type);
create index edge_relates on edge (predicate) where kind = 'relates';
create index mention_asked on mention (type) where origin = 'model';
create index statement_predicate on statement (predicate);
-- Whether a text says that one is related to the other, and all that is said of one.
create index statement_said on statement (subject_key, predicate, object_key);
drop index statement_subject;
