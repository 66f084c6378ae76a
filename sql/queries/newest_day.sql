-- What is the newest day of anything in the store, up to today?
select max(day) from (
    select max(day) as day from memory where day is not null and day < :after
    union all
    select max(day) from chunk where day is not null and day < :after
    union all
    select max(day) from document where day is not null and day < :after
);
