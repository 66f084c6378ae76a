-- What did reading by a model cost, by model and month?
select model, substr(started_at, 1, 7) as month, sum(calls) as calls, sum(input_tokens) as input_tokens,
       sum(output_tokens) as output_tokens, round(sum(cost), 4) as cost
from runs
group by model, month
order by month desc, model;
