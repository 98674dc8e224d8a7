-- Files that are not read, not to their end or not understood, and why; where an older version of the file was read, the last moment
-- of which it tells: what rests on the file alone is unknown from then on. One row per file.
with older as (
    select cluster_id, version_of as path, max(last_at) as since_at
    from ops.files
    where version_of is not null and status not in ('refused', 'blind')
    group by all
)

select files.cluster_id, files.path, files.kind, files.status, files.reason, files.next_step, older.since_at
from ops.files as files
left join older on files.cluster_id = older.cluster_id and files.path = older.path
where files.status in ('refused', 'cut_off', 'blind') and files.version_of is null
order by files.cluster_id, files.path
