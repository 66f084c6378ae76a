-- Which outputs of models does the ledger have, and for which texts?
create view extractions as
select extraction.text_sha256,              -- of the text that was read
       extraction.prompt_sha256,            -- of the prompt without the text
       extraction.model,                    -- that was asked
       strftime('%Y-%m-%dT%H:%M:%SZ', cast(substr(extraction.at, 1, 13) as integer) / 1000, 'unixepoch') as at, -- UTC
       extraction.input_tokens,             -- that the endpoint counted
       extraction.output_tokens,            -- that the endpoint counted
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
