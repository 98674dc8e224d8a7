with starts as (
    select
        cluster_id, path, max(greatest(submitted_at, started_at)) as last_start_at,
        -- Records are in the order in which their jobs were submitted.
        max_by(submitted_at, line_number) filter (line_number is distinct from open_line) as last_whole_at
    from raw.sacct
    inner join ops.files using (cluster_id, path)
    group by cluster_id, path
),
repeats as (
    select cluster_id, path, sum(line_count)::bigint as line_count
    from ops.skips where reason in ('duplicate', 'superseded') group by all
)
select
    files.cluster_id, kind, files.path, first_at,
    case
        when status = 'cut_off' then greatest(first_at, least(last_at, coalesce(last_whole_at, last_at))) else last_at
    end as last_at,
    loaded, skipped, coalesce(line_count, 0),
    case when kind = 'sacct' then {{ named_moment }} end, last_start_at, version_of
from ops.files
left join repeats on repeats.cluster_id = files.cluster_id and repeats.path = files.path
left join starts on starts.cluster_id = files.cluster_id and starts.path = files.path and kind = 'sacct'
where status in ('read', 'cut_off') and first_at is not null and kind <> 'manifest'
order by files.cluster_id, files.path
