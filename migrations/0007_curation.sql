-- What people decided of entities and the vocabulary, as the journal has it, and what it comes to.

create table decision (
    ref        text primary key,        -- time/writer of the journal record
    id         text not null,           -- what people call it: the beginning of the sha256 of ref
    at         text not null,           -- when, in UTC
    writer     text not null,           -- the machine that journaled it
    by         text not null,           -- who
    kind       text not null check (kind in ('vocabulary', 'curation')),
    action     text not null,
    subject    text not null,           -- entity:anchor, type:name, predicate:name, conflict:id
    detail     text not null,           -- JSON: what goes with the action
    why        text,
    seen       text,                    -- JSON list of refs: the decisions about the same that it was made in view of
    state      text not null check (state in ('standing', 'held', 'undone')),
    reason     text,                    -- why it is held
    contradicts text not null           -- JSON list of refs: what other writers decided otherwise, unaware of it
) strict, without rowid;
create index decision_id on decision (id);
create index decision_subject on decision (subject);

-- What standing decisions come to, by anchor: the first key that an entity had.
create table entity_decision (
    anchor     text primary key,
    entity_key text not null,           -- the name key of the entity that it is, or is a part of
    part_of    text,                    -- the anchor that it is merged into
    name       text,                    -- what it is called
    type       text,                    -- key of a type
    deleted    integer not null check (deleted in (0, 1))
) strict, without rowid;
create index entity_decision_entity on entity_decision (entity_key);
create index entity_decision_type on entity_decision (type);

-- Entities that are two whatever they look like; anchors, the lesser one first.
create table entity_distinct (
    one   text not null,
    other text not null,
    primary key (one, other)
) strict, without rowid;

-- Names that people gave are looked for in all texts, whether a node has them or not: those have the node 0.
create temp table kept as select match_key, name_key, entity_key, source, node_id, name from known_name;
drop table known_name;
create table known_name (
    match_key text not null,            -- how the name is looked up in a text
    name_key  text not null,
    entity_key text not null,           -- the name key of what it means: of an alias, its memory's
    source    text not null check (source in ('memory', 'alias', 'title', 'entity', 'decided')),
    node_id   integer not null,
    name      text not null,            -- as written
    primary key (match_key, name_key, source, node_id)
) strict, without rowid;
insert into known_name select * from kept;
drop table kept;
create index known_name_node on known_name (node_id);
create index known_name_name on known_name (name_key);
create index known_name_meant on known_name (entity_key) where source = 'alias';
create trigger known_name_node_deleted after delete on node begin
    delete from known_name where node_id = old.id;
end;
-- What came and went of known names, on balance: a name that goes from one entity to another is looked for as before.
insert or ignore into extract_waiting select id, 'match' from (select id from memory union all select id from chunk)
    where exists (select 1 from known_name_changed);
drop table known_name_changed;
create table known_name_changed (
    match_key text not null,
    name_key  text not null,            -- empty: look for the name again, whatever came or went
    name      text not null,
    balance   integer not null,         -- how many more there are of it
    primary key (match_key, name_key, name)
) strict, without rowid;
create trigger known_name_inserted after insert on known_name begin
    insert into known_name_changed values (new.match_key, new.name_key, new.name, 1)
        on conflict do update set balance = balance + 1;
    insert into entity_touched
        select distinct name_key, 0 from known_name where name_key = new.name_key and source = 'alias' on conflict do nothing;
end;
create trigger known_name_deleted after delete on known_name begin
    insert into known_name_changed values (old.match_key, old.name_key, old.name, -1)
        on conflict do update set balance = balance - 1;
    insert into entity_touched
        select old.name_key, 0
        where old.source = 'alias' or exists (select 1 from known_name where name_key = old.name_key and source = 'alias')
        on conflict do nothing;
end;

-- The journal is shown anew: it may have decisions that the tables do not.
delete from meta where key = 'journal';
