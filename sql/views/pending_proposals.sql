-- Which proposals wait for a person to approve or dismiss them?
create view pending_proposals as
select kind,                                -- type, predicate
       name,                                -- as it would stand in the vocabulary
       description,                         -- as a model gave it first
       texts                                -- different texts that ask for it, two or more
from proposals
where state = 'pending';
