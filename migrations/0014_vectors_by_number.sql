-- Vectors under the number of their model: five rows fit on a page where the model's name beside each left room for four.
create table embedding_model (
    model_id integer primary key,
    model    text not null unique       -- its id, with the digest of its files
) strict;
insert into embedding_model (model) select distinct model from embedding order by model;

alter table embedding rename to embedding_by_name;
-- The cache of vectors: a text that was embedded once is never embedded again under the same model.
-- With rowids: keys beside vectors in one tree would leave room for few keys on a page, and make each look-up slow.
create table embedding (
    model_id    integer not null references embedding_model (model_id),
    text_sha256 text not null,          -- of the exact embedded text
    vector      blob not null,          -- float32, little endian, unit length
    primary key (model_id, text_sha256)
) strict;
insert into embedding (model_id, text_sha256, vector)
    select model_id, text_sha256, vector from embedding_by_name join embedding_model using (model)
    order by embedding_by_name.rowid;
drop table embedding_by_name;
