-- Which outputs of models does the ledger have, and for which texts?
create view extractions as
select extraction.text_sha256,
       extraction.prompt_sha256,
       extraction.model,
       strftime('%Y-%m-%dT%H:%M:%SZ', cast(substr(extraction.at, 1, 13) as integer) / 1000, 'unixepoch') as at,
       extraction.input_tokens,
       extraction.output_tokens,
       extraction.cost,                     -- null: the price is not known
       (select json_group_array(key) from (
            select node.key from memory join node on node.id = memory.id
            where memory.text_sha256 = extraction.text_sha256
            union all
            select node.key from chunk join node on node.id = chunk.id
            where chunk.text_sha256 = extraction.text_sha256
            order by 1)) as sources,        -- JSON list of ids: the texts that it stands for
       extraction.refused,                  -- JSON list: types and predicates that were disabled then
       extraction.output                    -- JSON, as the model gave it
from extraction;
