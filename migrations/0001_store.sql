-- The tables of a store of memories: sources, nodes, memories, links, edges, vectors, clusters.
-- Integer ids are local to one file; what people and programs hold on to are the text keys.

create table meta (
    key   text primary key,
    value text not null
) strict, without rowid;

-- Every file that was read, as it was when it was read last.
create table source (
    id       integer primary key,
    path     text not null unique,      -- relative to the root, with "/"
    kind     text not null,             -- memory
    size     integer not null,          -- bytes
    mtime_ns integer not null,          -- as the file system says; -1 where it must be read again
    ctime_ns integer not null,
    sha256   text not null,             -- of the bytes
    state    text not null check (state in ('seen', 'error'))
) strict;

-- What could not be read or understood, by file and line.
create table problem (
    id     integer primary key,
    path   text not null,
    line   integer,
    code   text not null,
    reason text not null
) strict;
create index problem_path on problem (path);

create table node (
    id     integer primary key,
    kind   text not null check (kind in ('memory', 'document', 'chunk', 'entity', 'tag', 'cluster')),
    key    text not null unique,        -- feedback/prefers-tables, tag:style, cluster:c-1f0a9b2e
    label  text not null,
    degree integer not null default 0   -- neighbours over active edges, kept by triggers on neighbor
) strict;
create index node_kind on node (kind);

create table memory (
    id            integer primary key references node (id) on delete cascade,
    source_id     integer not null unique references source (id),
    base_key      text not null,        -- the key that the path asks for; node.key differs where two files ask for one
    type          text not null,
    name          text not null,
    title         text,                 -- the first H1
    description   text not null,
    head          text not null,        -- the file's text before the body: the frontmatter with its fences, secrets redacted
    body          text not null,        -- secrets redacted
    body_line     integer not null,     -- 1-based line of the file where the body starts
    frontmatter   text not null,        -- JSON, all scalars as strings
    tags          text not null,        -- JSON list
    aliases       text not null,        -- JSON list
    created       text,
    modified      text,
    happened_at   text,
    valid_from    text,
    valid_to      text,
    graph_sha256  text not null,        -- over the fields from which edges follow
    text_sha256   text not null,        -- over the text that is embedded
    has_secret    integer not null check (has_secret in (0, 1))
) strict;
create index memory_base_key on memory (base_key);
create index memory_type on memory (type);

-- The spellings under which a link can mean a memory.
create table memory_key (
    key       text not null,
    memory_id integer not null references memory (id) on delete cascade,
    primary key (key, memory_id)
) strict, without rowid;
create index memory_key_memory on memory_key (memory_id);

-- Earlier texts, as the journal has them.
create table memory_version (
    id         integer primary key,
    memory_key text not null,
    at         text not null,           -- hybrid logical time of the journal record
    sha256     text not null,           -- of the bytes
    reason     text not null,           -- saved, edited, deleted
    text       text,                    -- null where it is withheld
    withheld   text                     -- why: secret
) strict;
create index memory_version_key on memory_version (memory_key);

-- What was forgotten: a mark without content.
create table tombstone (
    key_sha256 text primary key,        -- of the memory's key
    at         text not null
) strict, without rowid;

-- Every link as written, with its target or the reason why it has none.
create table link (
    id         integer primary key,
    memory_id  integer not null references memory (id) on delete cascade,
    kind       text not null check (kind in ('wikilink', 'supersedes')),
    raw        text not null,
    target     text not null,
    heading    text,
    block      text,
    label      text,
    embed      integer not null check (embed in (0, 1)),
    line       integer,
    status     text not null check (status in ('resolved', 'unresolved', 'ambiguous', 'self')),
    target_id  integer references memory (id) on delete set null,
    how        text,                    -- exact, type order, alias, folded
    candidates text not null default '[]'
) strict;
create index link_memory on link (memory_id);
create index link_target on link (target_id);
create index link_status on link (status) where status <> 'resolved';

create table link_key (
    key     text not null,
    link_id integer not null references link (id) on delete cascade,
    primary key (key, link_id)
) strict, without rowid;
create index link_key_link on link_key (link_id);

create table edge (
    id        integer primary key,
    src       integer not null references node (id) on delete cascade,
    dst       integer not null references node (id) on delete cascade,
    kind      text not null,            -- has_tag, links_to, supersedes, in_cluster, contradicts
    predicate text not null default '', -- of a typed relation
    weight    real not null,            -- 0 to 1
    active    integer not null default 1 check (active in (0, 1)),
    unique (src, dst, kind, predicate)
) strict;
create index edge_dst on edge (dst);

-- Both directions of every active edge that relays, clustered by node: what the cascade walks.
create table neighbor (
    node_id  integer not null,
    other_id integer not null,
    edge_id  integer not null,
    kind     text not null,
    weight   real not null,
    primary key (node_id, other_id, edge_id)
) strict, without rowid;

create trigger edge_inserted after insert on edge when new.active and new.weight > 0 and new.src <> new.dst and new.kind <> 'contradicts' begin
    insert into neighbor values (new.src, new.dst, new.id, new.kind, new.weight), (new.dst, new.src, new.id, new.kind, new.weight);
end;
create trigger edge_deleted after delete on edge begin
    delete from neighbor where node_id = old.src and other_id = old.dst and edge_id = old.id;
    delete from neighbor where node_id = old.dst and other_id = old.src and edge_id = old.id;
end;
create trigger edge_updated after update on edge begin
    delete from neighbor where node_id = old.src and other_id = old.dst and edge_id = old.id;
    delete from neighbor where node_id = old.dst and other_id = old.src and edge_id = old.id;
    insert into neighbor
        select new.src, new.dst, new.id, new.kind, new.weight
        where new.active and new.weight > 0 and new.src <> new.dst and new.kind <> 'contradicts'
        union all
        select new.dst, new.src, new.id, new.kind, new.weight
        where new.active and new.weight > 0 and new.src <> new.dst and new.kind <> 'contradicts';
end;
-- Two nodes may have several edges; they are one neighbour of each other.
create trigger neighbor_inserted after insert on neighbor when not exists (
    select 1 from neighbor where node_id = new.node_id and other_id = new.other_id and edge_id <> new.edge_id)
begin
    update node set degree = degree + 1 where id = new.node_id;
end;
create trigger neighbor_deleted after delete on neighbor when not exists (
    select 1 from neighbor where node_id = old.node_id and other_id = old.other_id)
begin
    update node set degree = degree - 1 where id = old.node_id;
end;

-- The keyword index. Texts are segmented before they come here, so that every SQLite can read it.
create virtual table fts using fts5 (
    name, description, tags, body, parts, tokenize = 'porter unicode61 remove_diacritics 2'
);
create virtual table fts_instance using fts5vocab (fts, instance);
create virtual table fts_term using fts5vocab (fts, row);

-- The length of every text in fts, in words, and their sum: what BM25 divides by.
create table fts_length (
    node_id integer primary key,
    words   integer not null
) strict;
create table fts_total (
    one   integer primary key check (one = 1),
    texts integer not null,
    words integer not null
) strict;
insert into fts_total values (1, 0, 0);
create trigger fts_length_inserted after insert on fts_length begin
    update fts_total set texts = texts + 1, words = words + new.words;
end;
create trigger fts_length_deleted after delete on fts_length begin
    update fts_total set texts = texts - 1, words = words - old.words;
end;

-- The cache of vectors: a text that was embedded once is never embedded again under the same model.
-- With rowids: keys beside vectors in one tree would leave room for few keys on a page, and make each look-up slow.
create table embedding (
    model       text not null,
    text_sha256 text not null,          -- of the exact embedded text
    vector      blob not null,          -- float32, little endian, unit length
    primary key (model, text_sha256)
) strict;

-- The windows of a node's text that the model reads, one vector each.
create table passage (
    id          integer primary key,
    node_id     integer not null references node (id) on delete cascade,
    ordinal     integer not null,
    start       integer not null,       -- characters of the embedded text
    stop        integer not null,
    model       text not null,
    text_sha256 text not null,
    unique (node_id, ordinal)
) strict;
create index passage_text on passage (text_sha256);

-- Which text of a node its passages were made from; a node that differs or is absent is waiting to be embedded.
create table embedded (
    node_id     integer primary key references node (id) on delete cascade,
    model       text not null,
    text_sha256 text not null
) strict;

create table cluster (
    id      integer primary key references node (id) on delete cascade,
    anchors text not null               -- JSON: keys of the members nearest to the centre, nearest first
) strict;
