-- Snapshots: what was fetched from the web or uploaded, which no file of the user's could bring back.

-- From the journal. The bytes are the file .memdb/snapshots/<sha256>.
create table snapshot (
    path         text primary key,      -- the address that was asked for, or upload:// and a name; a place has the same
    link         text,                  -- the address that answered, after redirects; null of an upload
    sha256       text not null,
    suffix       text not null,         -- by which the bytes are read, in lower case
    content_type text,                  -- as the server named it
    fetched_at   text not null          -- UTC
) strict, without rowid;
