-- What happened first to each memory after a time: was an earlier text replaced, which it then still had, or did it come to be?
-- Memories that came to be twice, with a deletion between, have two lives; a second birth without one is another machine's view.
with birth as (
    select memory_key, at
    from memory_birth
    where at >= :after
      and not exists (
          select 1 from memory_birth as earlier
          where earlier.memory_key = memory_birth.memory_key and earlier.at < memory_birth.at
            and not exists (
                select 1 from memory_version as last
                where last.memory_key = memory_birth.memory_key and last.reason = 'deleted'
                  and last.at > earlier.at and last.at < memory_birth.at))
      and coalesce((select last.reason from memory_version as last
                    where last.memory_key = memory_birth.memory_key and last.at < memory_birth.at
                    order by last.at desc limit 1), 'deleted') = 'deleted'
),
event as (
    select memory_key, at, id as version_id from memory_version where at >= :after
    union all
    select memory_key, at, null from birth
),
first as (
    select memory_key, version_id,
           row_number() over (partition by memory_key order by at, version_id is null, version_id) as place
    from event
)
-- A memory that says itself since when it holds counts from then on, whenever its file was written.
select first.memory_key, first.version_id, memory_version.text is not null as is_kept, memory.id as node_id,
       coalesce(valid_from, created) glob '[0-9][0-9][0-9][0-9]*'
           or coalesce(substr(happened_at, 1, length(:day)) <= :day, 0) as is_dated
from first
left join memory_version on memory_version.id = first.version_id
left join node on node.key = first.memory_key and node.kind = 'memory'
left join memory on memory.id = node.id
where place = 1;
