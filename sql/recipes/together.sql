-- Which two things are mentioned together most often?
select one.entity as entity, other.entity as other, count(distinct one.source) as texts
from mentions as one
join mentions as other on other.source = one.source and other.entity > one.entity
group by one.entity, other.entity
order by texts desc, entity, other
limit 20;
