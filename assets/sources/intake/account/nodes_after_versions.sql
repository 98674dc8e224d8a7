update raw.nodes set captured_at = greatest(files.modified_at, older.stated_at)
from ops.files, (
    select nodes.cluster_id, version_of as path, max(captured_at) as stated_at
    from raw.nodes inner join versions using (cluster_id, path)
    group by all
) as older
where nodes.cluster_id = files.cluster_id and nodes.path = files.path
    and nodes.cluster_id = older.cluster_id and nodes.path = older.path
    and nodes.state is not null and nodes.captured_at <= older.stated_at
