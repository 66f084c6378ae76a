-- Of which day a text is and who says it: what the times and the people of a question are compared with. All of it follows from
-- what the rows say already.

-- The day, or the month or year alone, of what is written in ISO 8601.
alter table chunk add column day text as (
    case when created glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' then substr(created, 1, 10)
         when created glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]' or created glob '[0-9][0-9][0-9][0-9]' then created end) virtual;
alter table document add column day text as (
    case when created glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' then substr(created, 1, 10)
         when created glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]' or created glob '[0-9][0-9][0-9][0-9]' then created end) virtual;
-- Of a memory when it happened, by what it says or by its name, as of a daily note; else when it was changed or written.
alter table memory add column dated text as (
    coalesce(happened_at, frontmatter ->> 'date', iif(name glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*', name, null), modified, created)) virtual;
alter table memory add column day text as (
    case when dated glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*' then substr(dated, 1, 10)
         when dated glob '[0-9][0-9][0-9][0-9]-[0-9][0-9]' or dated glob '[0-9][0-9][0-9][0-9]' then dated end) virtual;
create index chunk_day on chunk (day) where day is not null;
create index document_day on document (day) where day is not null;
create index memory_day on memory (day) where day is not null;

-- Who says a passage: a record's `speaker`, `sender`, `author`, `from` or `role`, else of a record the name in `Name: what is said`,
-- on its first line or below one that has no such thing, as a time. A name has up to three words, and neither digits nor stops.
-- A passage that may have one is put in with its id alone; the trigger reads the name out of its text, or takes the row out again.
create table speaker (
    chunk_id integer primary key references chunk (id) on delete cascade,
    name     text collate nocase
) strict;
create index speaker_name on speaker (name, chunk_id);
create trigger speaker_read after insert on speaker begin
    update speaker set name = (
        select nullif(trim(substr(rest, 1, instr(rest, char(10)) - 1)), '')
        from (
            select place, substr(said, instr(said, char(10) || label || ': ') + length(label) + 3) as rest
            from (select char(10) || text || char(10) as said from chunk where id = new.chunk_id)
            join (select 1 as place, 'speaker' as label union all select 2, 'sender' union all select 3, 'author'
                  union all select 4, 'from' union all select 5, 'role')
            where instr(said, char(10) || label || ': ') > 0
            union all
            select 6, substr(line, 1, instr(line, ': ') - 1) || char(10)
            from (
                select iif(instr(first, ': '), first, substr(below, 1, instr(below || char(10), char(10)) - 1)) as line
                from (
                    select substr(text, 1, instr(text || char(10), char(10)) - 1) as first,
                           substr(text, instr(text || char(10), char(10)) + 1) as below
                    from chunk where id = new.chunk_id and record_id is not null
                )
            )
            where line glob '[^a-z]*: *'
        )
        order by place limit 1
    ) where chunk_id = new.chunk_id;
    delete from speaker
    where chunk_id = new.chunk_id
      and (name is null or length(name) > 40 or name glob '*[][0-9.?!,;:()<>/{}"|]*' or name glob '* * * *');
end;
create trigger speaker_of_chunk after insert on chunk
when new.record_id is not null and instr(substr(new.text, 1, 200), ': ')
     or instr(new.text, 'speaker: ') or instr(new.text, 'sender: ') or instr(new.text, 'author: ') or instr(new.text, 'role: ') or instr(new.text, 'from: ')
begin
    insert into speaker (chunk_id) values (new.id);
end;
insert into speaker (chunk_id) select id from chunk
where record_id is not null and instr(substr(text, 1, 200), ': ')
     or instr(text, 'speaker: ') or instr(text, 'sender: ') or instr(text, 'author: ') or instr(text, 'role: ') or instr(text, 'from: ');
