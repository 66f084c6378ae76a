-- Which outputs of models does the ledger have?
create view extractions as
select extraction.text_sha256, extraction.model, extraction.at, extraction.input_tokens, extraction.output_tokens,
       extraction.cost,
       (select json_group_array(node.key) from (
            select id, text_sha256 from memory union all select id, text_sha256 from chunk) as text
        join node on node.id = text.id where text.text_sha256 = extraction.text_sha256) as sources, -- JSON: texts it stands for
       extraction.output                    -- JSON
from extraction;
