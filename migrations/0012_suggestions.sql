-- What names have in common, kept so that a list of suggested merges looks only at the entities that changed since.
-- No row has a name in it: an entity that is gone leaves nothing to read. A key is a hash; its last five bits are its kind.
create table near_key (
    key       integer not null,
    entity_id integer not null,         -- an entity that may be gone: it is in near_changed then
    place     integer not null,         -- among the names of the entity
    primary key (key, entity_id, place)
) strict, without rowid;
create index near_key_entity on near_key (entity_id);
create table near_meeting (
    key   integer not null,
    a     integer not null,             -- ids of two entities
    b     integer not null,
    rank  integer not null,
    words text not null,                -- the reason
    score real not null,
    primary key (key, a, b, rank, words, score)
) strict, without rowid;
create table near_changed (
    entity_id integer primary key
) strict;
create trigger near_entity_inserted after insert on entity begin
    insert into near_changed values (new.id) on conflict do nothing;
end;
create trigger near_entity_updated after update on entity
    when new.id is not old.id or new.name_key is not old.name_key or new.name is not old.name or new.type is not old.type begin
    insert into near_changed values (old.id), (new.id) on conflict do nothing;
end;
create trigger near_entity_deleted after delete on entity begin
    insert into near_changed values (old.id) on conflict do nothing;
end;
-- Before: a row that is replaced is not deleted as far as triggers know.
create trigger near_alias_replaced before insert on entity_alias begin
    insert into near_changed select entity.id from entity_alias join entity on entity.name_key = entity_key
        where entity_alias.name_key = new.name_key on conflict do nothing;
end;
create trigger near_alias_inserted after insert on entity_alias begin
    insert into near_changed select id from entity where name_key = new.entity_key on conflict do nothing;
end;
create trigger near_alias_updated after update on entity_alias begin
    insert into near_changed select id from entity where name_key in (old.entity_key, new.entity_key) on conflict do nothing;
end;
create trigger near_alias_deleted after delete on entity_alias begin
    insert into near_changed select id from entity where name_key = old.entity_key on conflict do nothing;
end;
insert into near_changed select id from entity;
