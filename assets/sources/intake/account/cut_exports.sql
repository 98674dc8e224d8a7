{# Exports of accounting that end before records of an older version: an export has all jobs that ended after its first
record. -#}
update ops.files set status = {{ read | literal }}, reason = null, next_step = null
where status = {{ cut_off | literal }} and reason = {{ ends_early | literal }};

update ops.files set
    status = {{ cut_off | literal }}, reason = {{ ends_early | literal }}, next_step = {{ next_step | literal }}
from (
    select cluster_id, path, max(submitted_at) as last_submit from raw.sacct group by all
) as held, (
    select kept.cluster_id, versions.version_of, max(kept.submitted_at) as last_submit, max(kept.ended_at) as last_end
    from raw.sacct as kept
    inner join ops.files as versions on versions.cluster_id = kept.cluster_id and versions.path = kept.path
    where versions.version_of is not null
    group by all
) as older
where held.cluster_id = files.cluster_id and held.path = files.path
    and older.cluster_id = files.cluster_id and older.version_of = files.path
    and files.status = {{ read | literal }} and files.is_present and files.dialect not in ({{ logs }})
    and older.last_submit > held.last_submit and older.last_end >= files.first_at
