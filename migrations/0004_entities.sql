-- The entity graph: what texts mention and state, the vocabulary, the ledger of model outputs, and the runs that made them.
-- What a text says is kept raw in mention and statement; entities, their aliases and edges follow from it, the vocabulary and
-- what people decided.

-- When a model's output for the memory's present text was journaled; null where none was.
alter table memory add column indexed_at text;

-- The closed lists of entity types and predicates. System entries are put in by name whenever the journal is replayed.
create table vocabulary (
    kind           text not null check (kind in ('type', 'predicate')),
    name_key       text not null,
    name           text not null,
    description    text not null,       -- the rule by which the model uses it
    origin         text not null check (origin in ('system', 'user')),
    state          text not null check (state in ('active', 'disabled')),
    single_letters integer not null check (single_letters in (0, 1)), -- of a type: whether one letter is a name
    single_valued  integer not null check (single_valued in (0, 1)),  -- of a predicate: whether a second object is a conflict
    ordinal        integer not null,
    primary key (kind, name_key)
) strict, without rowid;

-- Wanted names that people do not want.
create table dismissal (
    kind     text not null check (kind in ('type', 'predicate')),
    name_key text not null,
    name     text not null,
    at       text not null,
    primary key (kind, name_key)
) strict, without rowid;

-- The ledger: every output of a model, by text, prompt and model, as the journal has it.
create table extraction (
    id            integer primary key,
    text_sha256   text not null,
    prompt_sha256 text not null,
    model         text not null,
    at            text not null,        -- hybrid logical time of the journal record
    output        text not null,        -- JSON, as the model gave it
    refused       text not null,        -- JSON list: types and predicates that were disabled then
    input_tokens  integer,
    output_tokens integer,
    cost          real,                 -- null where the price is not known
    unique (text_sha256, prompt_sha256, model)
) strict;

-- What the mentions of a text were read from: where it is the same, nothing is read again.
create table extracted (
    node_id      integer primary key references node (id) on delete cascade,
    input_sha256 text not null,         -- over the text, its own names, the extractor and the output
    skip         text                   -- why no model reads this text: math-dense, secret, empty
) strict;

-- (A conflict clause of the statement that fires a trigger takes the place of `or ignore` inside it, but not of `on conflict`.)
-- Texts that changed, names that came or went, and names whose mentions changed: what is to be derived again.
create table extract_waiting (
    node_id integer primary key,
    stage   text not null check (stage in ('read', 'match')) -- read: everything anew; match: only the names that the store knows
) strict;
create table known_name_changed (
    match_key text primary key
) strict, without rowid;
create table entity_touched (
    name_key text not null,
    node_id  integer not null,          -- the text whose mention changed; 0 where all of them are concerned
    primary key (name_key, node_id)
) strict, without rowid;
create table statement_touched (
    subject_key text not null,
    predicate   text not null,
    object_key  text not null,
    primary key (subject_key, predicate, object_key)
) strict, without rowid;

create trigger extract_memory_inserted after insert on memory begin
    insert into extract_waiting values (new.id, 'read') on conflict do update set stage = 'read';
end;
create trigger extract_memory_updated after update on memory
    when new.text_sha256 is not old.text_sha256 or new.graph_sha256 is not old.graph_sha256 begin
    insert into extract_waiting values (new.id, 'read') on conflict do update set stage = 'read';
end;
create trigger extract_chunk_inserted after insert on chunk begin
    insert into extract_waiting values (new.id, 'read') on conflict do update set stage = 'read';
end;
-- A document whose files are gone says nothing: no rebuild could read it.
create trigger extract_document_updated after update on document when new.state <> old.state begin
    insert into extract_waiting select id, 'read' from chunk where document_id = new.id
        on conflict do update set stage = 'read';
end;
create trigger extract_extraction_inserted after insert on extraction begin
    insert into extract_waiting select id, 'read' from memory where text_sha256 = new.text_sha256
        on conflict do update set stage = 'read';
    insert into extract_waiting select id, 'read' from chunk where text_sha256 = new.text_sha256
        on conflict do update set stage = 'read';
end;
create index memory_text on memory (text_sha256);
create index chunk_text on chunk (text_sha256);
insert into extract_waiting select id, 'read' from memory union all select id, 'read' from chunk;

-- The names that the store knows: of memories and their aliases, of documents and records, and of entities that texts gave.
create table known_name (
    match_key text not null,            -- how the name is looked up in a text
    name_key  text not null,
    entity_key text not null,           -- the name key of what it means: of an alias, its memory's
    source    text not null check (source in ('memory', 'alias', 'title', 'entity')),
    node_id   integer not null references node (id) on delete cascade,
    name      text not null,            -- as written
    primary key (match_key, name_key, source, node_id)
) strict, without rowid;
create index known_name_node on known_name (node_id);
create index known_name_name on known_name (name_key);
-- What is called by a name itself takes the name from those that have it as an alias.
create trigger known_name_inserted after insert on known_name begin
    insert into known_name_changed values (new.match_key) on conflict do nothing;
    insert into entity_touched
        select distinct name_key, 0 from known_name where name_key = new.name_key and source = 'alias' on conflict do nothing;
end;
create trigger known_name_deleted after delete on known_name begin
    insert into known_name_changed values (old.match_key) on conflict do nothing;
    insert into entity_touched
        select old.name_key, 0
        where old.source = 'alias' or exists (select 1 from known_name where name_key = old.name_key and source = 'alias')
        on conflict do nothing;
end;

-- A text mentions a name: the evidence of every mention edge.
create table mention (
    node_id  integer not null references node (id) on delete cascade,
    name_key text not null,
    origin   text not null check (origin in ('model', 'rules', 'names')),
    source   text not null,             -- answer; identifier, proper; known, subject (the text's own name)
    name     text not null,             -- as written
    type     text,                      -- key of a type; null where it is not sure
    at       text not null,             -- of the output, empty where no model gave it
    ordinal  integer not null,          -- place among the mentions of the text
    refused  integer not null check (refused in (0, 1)), -- whether its type was disabled when it was given
    about    integer not null check (about in (0, 1)), -- whether the text bears the name itself: it is about what it names
    primary key (node_id, name_key)
) strict, without rowid;
create index mention_name on mention (name_key, origin, at);

-- How often a name is mentioned in each way: what an entity is called and of which type follows without reading all mentions.
create table spelling (
    name_key text not null,
    origin   text not null,
    source   text not null,
    name     text not null,
    type     text not null,             -- empty where it is not sure
    refused  integer not null,
    uses     integer not null,
    primary key (name_key, origin, source, name, type, refused)
) strict, without rowid;
create trigger mention_inserted after insert on mention begin
    insert into entity_touched values (new.name_key, new.node_id) on conflict do nothing;
    insert into spelling values (new.name_key, new.origin, new.source, new.name, coalesce(new.type, ''), new.refused, 1)
        on conflict do update set uses = uses + 1;
end;
create trigger mention_deleted after delete on mention begin
    insert into entity_touched values (old.name_key, old.node_id) on conflict do nothing;
    update spelling set uses = uses - 1
        where name_key = old.name_key and origin = old.origin and source = old.source and name = old.name
          and type = coalesce(old.type, '') and refused = old.refused;
    delete from spelling
        where name_key = old.name_key and origin = old.origin and source = old.source and name = old.name
          and type = coalesce(old.type, '') and refused = old.refused and uses = 0;
end;

-- A text states a relation between two names: the evidence of every relation edge.
create table statement (
    node_id     integer not null references node (id) on delete cascade,
    subject_key text not null,
    predicate   text not null,          -- key of a predicate
    object_key  text not null,
    origin      text not null check (origin in ('model', 'rules')),
    confidence  real not null,
    at          text not null,
    refused     integer not null check (refused in (0, 1)),
    primary key (node_id, subject_key, predicate, object_key)
) strict, without rowid;
create index statement_subject on statement (subject_key);
create index statement_object on statement (object_key);
create trigger statement_inserted after insert on statement begin
    insert into statement_touched values (new.subject_key, new.predicate, new.object_key) on conflict do nothing;
end;
create trigger statement_deleted after delete on statement begin
    insert into statement_touched values (old.subject_key, old.predicate, old.object_key) on conflict do nothing;
end;

-- A name that a model asked to be put into the vocabulary, beside the unknown ones that mention and statement have.
create table proposal_evidence (
    node_id     integer not null references node (id) on delete cascade,
    kind        text not null check (kind in ('type', 'predicate')),
    name_key    text not null,
    name        text not null,
    description text not null,
    at          text not null,
    primary key (node_id, kind, name_key)
) strict, without rowid;
create index proposal_evidence_name on proposal_evidence (kind, name_key);

create table entity (
    id       integer primary key references node (id) on delete cascade,
    name_key text not null unique,      -- node.key is `entity:` and this
    name     text not null,
    type     text,                      -- key of a type
    origin   text not null check (origin in ('model', 'rules', 'names', 'user'))
) strict;

-- Other names of an entity: a mention of one is a mention of the entity.
create table entity_alias (
    name_key   text primary key,
    entity_key text not null,           -- the name key of the entity, whether it is there now or not
    name       text not null,
    made_by    text not null            -- memory: a file's `aliases`; rename, merge: a person
) strict, without rowid;
create index entity_alias_entity on entity_alias (entity_key);

-- Background work, with what it cost.
create table run (
    id            integer primary key,
    kind          text not null,        -- index
    state         text not null check (state in ('running', 'done', 'stopped', 'failed')),
    started_at    text not null,
    finished_at   text,
    model         text,
    prompt_sha256 text,
    pid           integer,
    done          integer not null default 0,
    skipped       integer not null default 0,
    failed        integer not null default 0,
    calls         integer not null default 0,
    input_tokens  integer not null default 0,
    output_tokens integer not null default 0,
    cost          real,
    message       text
) strict;
create table run_event (
    id      integer primary key,
    run_id  integer not null references run (id) on delete cascade,
    at      text not null,
    node    text,                       -- key of the text
    kind    text not null,              -- indexed, replayed, skipped, failed, dropped, held
    message text not null
) strict;
create index run_event_run on run_event (run_id);

-- A text that a run works on, until the lease ends; and how often it failed.
create table claim (
    text_sha256 text primary key,
    run_id      integer not null references run (id) on delete cascade,
    until       integer not null        -- seconds since 1970
) strict, without rowid;
create table failure (
    text_sha256   text not null,
    prompt_sha256 text not null,
    model         text not null,
    times         integer not null,
    reason        text not null,
    primary key (text_sha256, prompt_sha256, model)
) strict, without rowid;
