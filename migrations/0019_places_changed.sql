-- Whether anything that a scan compares documents with was changed, so that after other writes it need not be read again.
-- `places` in `meta` is another random number then: a rebuilt database never has that of the one before.

create trigger place_inserted after insert on place begin
    insert into meta values ('places', lower(hex(randomblob(8)))) on conflict do update set value = excluded.value;
end;
create trigger place_updated after update on place begin
    insert into meta values ('places', lower(hex(randomblob(8)))) on conflict do update set value = excluded.value;
end;
create trigger place_deleted after delete on place begin
    insert into meta values ('places', lower(hex(randomblob(8)))) on conflict do update set value = excluded.value;
end;
create trigger addition_inserted after insert on addition begin
    insert into meta values ('places', lower(hex(randomblob(8)))) on conflict do update set value = excluded.value;
end;
create trigger addition_updated after update on addition begin
    insert into meta values ('places', lower(hex(randomblob(8)))) on conflict do update set value = excluded.value;
end;
create trigger addition_deleted after delete on addition begin
    insert into meta values ('places', lower(hex(randomblob(8)))) on conflict do update set value = excluded.value;
end;
-- By which extractor a document was read, and by whose tokens cut.
create trigger document_read_again after update of extractor, cutter on document begin
    insert into meta values ('places', lower(hex(randomblob(8)))) on conflict do update set value = excluded.value;
end;
