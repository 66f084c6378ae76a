-- Which proposals wait for a person to approve or dismiss them?
create view pending_proposals as
select kind, name, description, texts from proposals where state = 'pending';
