-- Files that were refused, cut off or not understood, and why; if an older version was read, the end of its data, after
-- which everything that rests on the file alone is unknown. One row per file.
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
