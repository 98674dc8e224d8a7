{# Versions without rows whose sightings of hosts other files of the kind have too. #}
select cluster_id, path
from versions
anti join raw.{{ table }} using (cluster_id, path)
anti join raw.unknown_lines using (cluster_id, path)
anti join (
    select seen.cluster_id, seen.path
    from raw.sightings as seen semi join versions using (cluster_id, path)
    anti join (
        select sightings.*, files.version_of from raw.sightings
        inner join ops.files on files.cluster_id = sightings.cluster_id and files.path = sightings.path
        where files.kind = {{ kind | literal }}
    ) as others
        on others.cluster_id = seen.cluster_id and others.node_name = seen.node_name
        and others.day_date = seen.day_date and others.path <> seen.path
        and (others.version_of is null or others.path > seen.path)
) as only_seen using (cluster_id, path)
