-- Which texts wait to be embedded, so that after a write nobody has to look at all of them.

-- Memories and chunks that have no windows under the model of the store; those with a secret stay here.
create table embed_waiting (
    node_id integer primary key references node (id) on delete cascade
) strict;

insert into embed_waiting
    select id from node
    where kind in ('memory', 'chunk')
      and not exists (select 1 from embedded where node_id = node.id and model = (select value from meta where key = 'model'));

create trigger embed_memory_inserted after insert on memory begin
    insert into embed_waiting values (new.id) on conflict do nothing;
end;
create trigger embed_chunk_inserted after insert on chunk begin
    insert into embed_waiting values (new.id) on conflict do nothing;
end;
-- Memories and chunks alone: of a node that is deleted its row here is gone by then, or goes with it.
create trigger embedded_deleted after delete on embedded begin
    insert into embed_waiting select id from node where id = old.node_id and kind in ('memory', 'chunk') on conflict do nothing;
end;
create trigger embedded_inserted after insert on embedded when new.model = (select value from meta where key = 'model') begin
    delete from embed_waiting where node_id = new.node_id;
end;
