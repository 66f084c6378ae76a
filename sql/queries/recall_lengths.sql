-- How many words have these texts?
select words from json_each(:texts) cross join fts_length on fts_length.node_id = value order by value;
