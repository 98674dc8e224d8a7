-- Warnings of the readers: in how many files, and on how many attempts. One row per cluster and warning.
with in_files as (
    -- The text after a colon concerns the file alone.
    select cluster_id, path, split_part(unnest(warnings), ':', 1) as warning
    from ops.files
),

on_attempts as (
    select cluster_id, warning, count(*) as attempt_count
    from (select cluster_id, unnest(list_distinct(warnings)) as warning from marts.fct_attempts)
    group by cluster_id, warning
)

select
    in_files.cluster_id,
    in_files.warning,
    count(distinct in_files.path) as file_count,
    min(in_files.path) as example_path,
    coalesce(any_value(on_attempts.attempt_count), 0) as attempt_count
from in_files
left join on_attempts using (cluster_id, warning)
group by in_files.cluster_id, in_files.warning
order by in_files.cluster_id, file_count desc, in_files.warning
