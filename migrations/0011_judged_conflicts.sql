-- What a model says of two memories makes conflicts like what rules find.
create index judgement_contradicts on judgement (text_sha256, other_sha256) where verdict = 'contradicts';
create trigger conflict_judged after insert on judgement
    when new.verdict = 'contradicts'
      or exists (select 1 from judgement where text_sha256 = new.text_sha256 and other_sha256 = new.other_sha256 and verdict = 'contradicts')
      or exists (select 1 from judgement where text_sha256 = new.other_sha256 and other_sha256 = new.text_sha256 and verdict = 'contradicts') begin
    insert into conflict_stale values (1) on conflict do nothing;
end;
create trigger conflict_judgement_deleted after delete on judgement when old.verdict = 'contradicts' begin
    insert into conflict_stale values (1) on conflict do nothing;
end;
create trigger conflict_judged_memory_inserted after insert on memory
    when exists (select 1 from judgement where text_sha256 = new.text_sha256)
      or exists (select 1 from judgement where other_sha256 = new.text_sha256) begin
    insert into conflict_stale values (1) on conflict do nothing;
end;
create trigger conflict_judged_memory_updated after update on memory
    when new.text_sha256 <> old.text_sha256
     and (exists (select 1 from judgement where text_sha256 in (old.text_sha256, new.text_sha256))
       or exists (select 1 from judgement where other_sha256 in (old.text_sha256, new.text_sha256))) begin
    insert into conflict_stale values (1) on conflict do nothing;
end;
create trigger conflict_judged_memory_deleted after delete on memory
    when exists (select 1 from judgement where text_sha256 = old.text_sha256)
      or exists (select 1 from judgement where other_sha256 = old.text_sha256) begin
    insert into conflict_stale values (1) on conflict do nothing;
end;
insert into conflict_stale values (1) on conflict do nothing;
