-- Documents: what was added, the files that were found there, and the passages that they were cut into.

-- What the user added, from the journal. A file or folder that is taken out of an added folder again is excluded.
create table addition (
    path     text primary key,          -- relative to the root where it lies inside, else absolute, with "/"
    excluded integer not null check (excluded in (0, 1))
) strict, without rowid;

create table document (
    id        integer primary key references node (id) on delete cascade,
    sha256    text not null,            -- of the bytes: identical files are one document with several places
    suffix    text not null,            -- of the name, in lower case: it can decide how the bytes are read
    format    text not null,
    title     text,
    created   text,
    extractor text not null,            -- name and version: another one cuts the file anew
    cutter    text not null,            -- the model whose tokens were counted, or estimate: another model cuts anew
    notes     text not null,            -- JSON list: what a reader should know, such as lines that were left out
    state     text not null check (state in ('seen', 'missing')), -- missing: no place of it can be read now
    unique (sha256, suffix)
) strict;

-- Where a document's bytes lie. A place that is gone or cannot be read is kept while the document has no other.
create table place (
    path        text primary key,
    document_id integer references document (id) on delete set null,
    size        integer not null,       -- bytes
    mtime_ns    integer not null,       -- -1 where it must be read again
    ctime_ns    integer not null,
    sha256      text not null,
    state       text not null check (state in ('seen', 'missing', 'error'))
) strict, without rowid;
create index place_document on place (document_id);

create table chunk (
    id           integer primary key references node (id) on delete cascade,
    document_id  integer not null references document (id) on delete cascade,
    ordinal      integer not null,      -- from 0
    heading_path text not null,         -- JSON list, outermost first
    prefix       text not null,         -- title and headings on one line: searched and embedded before the text
    text         text not null,         -- secrets redacted
    page         integer,               -- from 1
    start_line   integer,               -- of the file, from 1
    end_line     integer,
    record_id    text,                  -- of a record with an id of its own
    title        text,                  -- of a record
    created      text,
    identity     text not null,         -- sha256 over headings, title and text: an unchanged passage stays the same chunk
    text_sha256  text not null,         -- over what is embedded
    has_secret   integer not null check (has_secret in (0, 1)),
    indexed_at   text                   -- when entities were extracted
) strict;
create index chunk_document on chunk (document_id, ordinal);
