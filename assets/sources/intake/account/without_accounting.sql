{% import "sources/intake/account/macros.sql" as m %}
create or replace temp table new_warnings as
with accounting as (
    select cluster_id, least(min(files.first_at), min(jobs.started_at)) as first_at, max(last_at) as last_at
    from ops.files
    left join (select cluster_id, min(started_at) as started_at from raw.sacct group by cluster_id) as jobs
        using (cluster_id)
    where kind = 'sacct' group by cluster_id
),
logs as (
    select
        files.cluster_id, files.path, files.first_at, files.last_at,
        bool_or(files.first_at <= accounting.last_at and files.last_at >= accounting.first_at)
            over (partition by files.cluster_id, files.kind) as is_any_beside,
        greatest(epoch(files.first_at - accounting.last_at), epoch(accounting.first_at - files.last_at)) / 86400
            as days_apart
    from ops.files
    inner join accounting using (cluster_id)
    where files.kind in ('events', 'health', 'kernel', 'slurmctld')
)
select cluster_id, path, concat({{ name | literal }}, ': ', first_at::date, ' to ', last_at::date) as warning
from logs where days_apart > if(is_any_beside, {{ days_apart }}, 0);
{{ m.replace_warnings(name) }}
