-- What is the newest day of anything in the store, up to today?
select max(day) from (
    select max(coalesce(happened_at, modified, created)) as day from memory
    where coalesce(happened_at, modified, created) is not null and coalesce(happened_at, modified, created) < :after
    union all
    select max(day) from chunk where day is not null and day < :after
    union all
    select max(day) from document where day is not null and day < :after
);
