-- Which links lead nowhere, and how many ask for the same target?
select target, count(*) as links, json_group_array(source) as sources
from unresolved_links
where status = 'unresolved'
group by target
order by links desc, target;
