-- What memories said before, searchable; since when they are there; texts that say the same; and what a model said of two texts.

-- Hashes of what a memory says, but for case, punctuation and small typos: texts that restate one another share one.
create table memory_sign (
    sign      integer not null,         -- 63 bits of a sha256
    memory_id integer not null references memory (id) on delete cascade,
    primary key (sign, memory_id)
) strict, without rowid;
create index memory_sign_memory on memory_sign (memory_id);

-- When a memory came to be, where memdb saw it: saved by it, or found by a sync of a store that had been read whole before.
create table memory_birth (
    memory_key text not null,
    at         text not null,           -- hybrid logical time of the journal record
    primary key (memory_key, at)
) strict, without rowid;
create index memory_birth_at on memory_birth (at);

-- The words of earlier texts, in columns as those of `fts`, and their number.
create virtual table version_fts using fts5 (
    name, description, tags, body, parts, tokenize = 'porter unicode61 remove_diacritics 2'
);
create virtual table version_instance using fts5vocab (version_fts, instance);
create table version_length (
    version_id integer primary key,
    words      integer not null
) strict;
create index memory_version_at on memory_version (at);
create trigger memory_version_deleted after delete on memory_version begin
    delete from version_fts where rowid = old.id;
    delete from version_length where version_id = old.id;
end;

-- The ledger of what a model said of two memories: one row for each pair of texts, prompt and model, as the journal has it.
create table judgement (
    id            integer primary key,
    text_sha256   text not null,        -- of the memory that was asked about
    other_sha256  text not null,        -- of one of those near to it
    prompt_sha256 text not null,
    model         text not null,
    at            text not null,        -- hybrid logical time of the journal record
    verdict       text not null check (verdict in ('same', 'restates', 'contradicts', 'unrelated')),
    quote         text,                 -- words of the first text, null where the verdict needs none
    other_quote   text,
    input_tokens  integer,              -- of the whole question, in the first of its rows
    output_tokens integer,
    cost          real,
    unique (text_sha256, other_sha256, prompt_sha256, model)
) strict;
create index judgement_other on judgement (other_sha256);

-- Memories that were looked at and have nothing near them to ask about; a rebuilt store looks again, which costs no call.
create table judged_alone (
    memory_id     integer primary key references memory (id) on delete cascade,
    text_sha256   text not null,
    prompt_sha256 text not null,
    model         text not null
) strict;

-- What is there already is brought in by the next sync: only a program can cut words.
insert or replace into meta values ('signs_stale', '1'), ('journal', '{}');
