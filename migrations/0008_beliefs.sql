-- What contradicts what: relations and memories alike, and what people decided of it.

-- What the sentences of a memory claim, each without its value: the same form with another value cannot be true as well.
create table sentence (
    node_id integer not null references node (id) on delete cascade,
    form    integer not null,           -- 64 bits of a sha256
    value   text not null,              -- number 5432, day friday, polarity not 1, is postgresql
    mark    integer not null,           -- of the sentence as it is written: it changes when that does
    primary key (node_id, form)
) strict, without rowid;
create index sentence_form on sentence (form, value);

-- Forms whose memories are to be compared anew; and whether anything is, from which conflicts follow.
create table sentence_touched (
    form integer primary key
) strict;
create table conflict_stale (
    one integer primary key check (one = 1)
) strict;
create trigger sentence_inserted after insert on sentence begin
    insert into sentence_touched values (new.form) on conflict do nothing;
end;
create trigger sentence_deleted after delete on sentence begin
    insert into sentence_touched values (old.form) on conflict do nothing;
end;

-- The memories that claim one thing with values that differ.
create table clash (
    form    integer not null,
    node_id integer not null references node (id) on delete cascade,
    value   text not null,
    quote   text not null,              -- secrets redacted
    primary key (form, node_id)
) strict, without rowid;
create index clash_node on clash (node_id);
create trigger clash_inserted after insert on clash begin
    insert into conflict_stale values (1) on conflict do nothing;
end;
create trigger clash_deleted after delete on clash begin
    insert into conflict_stale values (1) on conflict do nothing;
end;

-- What stands against what, until someone decides. It follows from the texts, and goes when they agree again.
drop table conflict_side;
drop table conflict;
create table conflict (
    key        text primary key,        -- short name, made from the subject and the predicate, or from what is claimed
    kind       text not null check (kind in ('relation', 'memories')),
    origin     text not null check (origin in ('model', 'rules')),
    subject_id integer references entity (id) on delete cascade, -- of a relation
    predicate  text,                    -- of a relation
    unique (subject_id, predicate),
    check ((kind = 'relation') = (subject_id is not null and predicate is not null))
) strict, without rowid;

-- One row for each object and text that states it, or for each memory.
create table conflict_side (
    conflict_key text not null references conflict (key) on delete cascade,
    object_id    integer references entity (id) on delete cascade, -- of a relation
    value        text not null,         -- of memories: those with one value agree; empty for a relation
    node_id      integer not null references node (id) on delete cascade,
    confidence   real,                  -- 0 to 1; null where rules compared memories
    quote        text                   -- of memories
) strict;
create unique index conflict_side_one on conflict_side (conflict_key, coalesce(object_id, 0), node_id);
create index conflict_side_object on conflict_side (object_id);
create index conflict_side_node on conflict_side (node_id);

-- What people decided of conflicts, by the decisions that stand; and pair by pair what follows from each.
create table resolution (
    ref       text primary key,         -- of the decision
    conflict  text not null,
    kind      text not null check (kind in ('relation', 'memories')),
    choice    text not null check (choice in ('keep-new', 'keep-existing', 'keep', 'keep-both', 'merge')),
    subject   text not null,            -- of a relation: anchor of an entity
    predicate text not null
) strict, without rowid;
create table resolution_pair (
    ref    text not null references resolution (ref) on delete cascade,
    kept   text not null,               -- anchor of an entity, or id of a memory
    other  text not null,
    effect text not null check (effect in ('retires', 'replaces', 'distinct', 'merges')),
    counts integer not null check (counts in (0, 1)), -- 0: a later decision about the two says something else
    primary key (ref, kept, other)
) strict, without rowid;
create index resolution_pair_kept on resolution_pair (kept);
create index resolution_pair_other on resolution_pair (other);
create trigger resolution_decided after insert on decision when new.action = 'resolve' begin
    insert into conflict_stale values (1) on conflict do nothing;
end;
create trigger resolution_redecided after update on decision when new.action = 'resolve' begin
    insert into conflict_stale values (1) on conflict do nothing;
end;
create trigger resolution_undecided after delete on decision when old.action = 'resolve' begin
    insert into conflict_stale values (1) on conflict do nothing;
end;

-- A memory that decisions are about, or that clashes, comes, or is called otherwise.
create trigger resolution_memory_inserted after insert on node
    when new.kind = 'memory'
     and (exists (select 1 from resolution_pair where kept = new.key) or exists (select 1 from resolution_pair where other = new.key)) begin
    insert into conflict_stale values (1) on conflict do nothing;
end;
create trigger resolution_memory_renamed after update of key on node
    when new.kind = 'memory' and new.key <> old.key
     and (exists (select 1 from resolution_pair where kept in (old.key, new.key))
       or exists (select 1 from resolution_pair where other in (old.key, new.key))
       or exists (select 1 from clash where node_id = new.id)) begin
    insert into conflict_stale values (1) on conflict do nothing;
end;

-- What is true at different times does not clash.
create trigger sentence_memory_dated after update on memory
    when new.happened_at is not old.happened_at or new.valid_from is not old.valid_from or new.valid_to is not old.valid_to begin
    insert into extract_waiting values (new.id, 'read') on conflict do update set stage = 'read';
end;

-- What a replaced memory says contradicts nothing any more, whether a file or a person says that it is replaced.
drop trigger conflict_supersedes_inserted;
drop trigger conflict_supersedes_updated;
drop trigger conflict_supersedes_deleted;
create trigger conflict_replaced_inserted after insert on edge when new.kind in ('supersedes', 'replaces') begin
    insert into statement_touched select subject_key, predicate, object_key from statement where node_id = new.dst
        on conflict do nothing;
    insert into sentence_touched select form from sentence where node_id = new.dst on conflict do nothing;
    insert into conflict_stale values (1) on conflict do nothing;
end;
create trigger conflict_replaced_updated after update on edge when new.kind in ('supersedes', 'replaces') begin
    insert into statement_touched select subject_key, predicate, object_key from statement where node_id = new.dst
        on conflict do nothing;
    insert into sentence_touched select form from sentence where node_id = new.dst on conflict do nothing;
    insert into conflict_stale values (1) on conflict do nothing;
end;
create trigger conflict_replaced_deleted after delete on edge when old.kind in ('supersedes', 'replaces') begin
    insert into statement_touched select subject_key, predicate, object_key from statement where node_id = old.dst
        on conflict do nothing;
    insert into sentence_touched select form from sentence where node_id = old.dst on conflict do nothing;
    insert into conflict_stale values (1) on conflict do nothing;
end;

insert into statement_touched select subject_key, predicate, object_key from statement where true on conflict do nothing;
insert into extract_waiting select id, 'read' from memory where true on conflict do update set stage = 'read';
insert into conflict_stale values (1);
