-- What did models say of two memories, with which words of both?
create view judgements as
select a.key as memory,                     -- id of the memory that was compared
       b.key as other,                      -- id of one near to it
       verdict,                             -- same, restates, contradicts, unrelated
       quote,                               -- words of the memory; null where the verdict needs none
       other_quote,                         -- words of the other
       model,                               -- that was asked
       strftime('%Y-%m-%dT%H:%M:%SZ', cast(substr(judgement.at, 1, 13) as integer) / 1000, 'unixepoch') as at, -- UTC
       input_tokens,                        -- of the whole question, in one of its rows
       output_tokens,                       -- of the whole answer, in one of its rows
       cost                                 -- null: not known, or in another row of the question
from judgement
join memory as one on one.text_sha256 = judgement.text_sha256
join memory as two on two.text_sha256 = judgement.other_sha256
join node as a on a.id = one.id
join node as b on b.id = two.id
where one.id <> two.id;
