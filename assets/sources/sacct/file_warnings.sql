insert into file_warnings
with kept as (
    select batch_files.file_id, batch_files.timezone as zone, sacct.*
    from raw.sacct inner join batch_files
        on batch_files.path = sacct.path and batch_files.cluster_id = sacct.cluster_id
),
per_file as (
    select
        file_id,
        min(started_at) as first_start
    from kept group by file_id
),
-- Windows begin at midnight or at a full hour, and few jobs start at exactly such a moment.
starts as (
    select
        kept.file_id,
        count(distinct submitted_at) as submit_count,
        any_value(timezone(kept.zone, timezone('UTC', kept.started_at)))::time as local_time
    from kept inner join per_file
        on per_file.file_id = kept.file_id and per_file.first_start = kept.started_at
    where greatest(kept.submitted_at, kept.eligible_at) < kept.started_at and kept.elapsed_seconds > 0
    group by kept.file_id
)
select file_id, 'truncated_window' from starts
where submit_count >= case when local_time = '00:00:00' then 1 when local_time::varchar like '%:00:00' then 2 else 10 end
union all
select distinct file_id, unnest(warnings) from kept where len(warnings) > 0
