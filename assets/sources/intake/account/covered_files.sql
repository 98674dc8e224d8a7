with starts as (
    select cluster_id, path, max(greatest(submitted_at, started_at)) as last_start_at
    from raw.sacct
    group by cluster_id, path
),
repeats as (
    select cluster_id, path, sum(line_count)::bigint as line_count
    from ops.skips where reason in ('duplicate', 'superseded') group by all
)
select
    files.cluster_id, kind, files.path, first_at, last_at, loaded, skipped, coalesce(line_count, 0),
    case when kind = 'sacct' then {{ named_moment }} end, last_start_at, version_of
from ops.files
left join repeats on repeats.cluster_id = files.cluster_id and repeats.path = files.path
left join starts on starts.cluster_id = files.cluster_id and starts.path = files.path and kind = 'sacct'
where status in ('read', 'cut_off') and first_at is not null and kind <> 'manifest'
order by files.cluster_id, files.path
