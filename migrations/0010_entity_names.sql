-- Vectors of what entities are called: a question that names none may mean one by another word.
create table entity_name (
    entity_id   integer primary key references entity (id) on delete cascade,
    model       text not null,
    text_sha256 text not null,          -- of the name, as `embedding` has it
    bits        blob not null           -- one bit per dimension, as vec_quantize_binary gives them
) strict;
create index entity_name_text on entity_name (text_sha256);
-- The entities in which most texts meet, without a look at all others.
create index node_meeting on node (degree) where kind = 'entity' and degree >= 2;
insert or replace into meta values ('entity_names_stale', '1');
