-- What a store of schema version 10 had in the tables that this version brought; see test_upgrade.py.
insert into embedding (model, text_sha256, vector) values ('fake/words@1', '47acd5486c343f5d891a026a2bbf464c92e7b3a2bf3c47e15747f5ca290e09a8', X'B41D3E3F85ACBCBCEF8A16BEE691653EDE05493E2DFB8F3E4B11743EBCEAE53E');
insert into embedding (model, text_sha256, vector) values ('fake/words@1', '735a77fb3ed8e9a4de135a0197ab9c97400cd573fb3a15f8c7cec2efd11b9241', X'239B86BE8EB8F43D3759CBBE81DF30BE7FCB3DBF00A01C3E9BF8223EE210B93E');
delete from entity_name;
insert into entity_name (entity_id, model, text_sha256, bits) values (7, 'fake/words@1', '735a77fb3ed8e9a4de135a0197ab9c97400cd573fb3a15f8c7cec2efd11b9241', X'E2');
insert into entity_name (entity_id, model, text_sha256, bits) values (8, 'fake/words@1', '47acd5486c343f5d891a026a2bbf464c92e7b3a2bf3c47e15747f5ca290e09a8', X'F9');
