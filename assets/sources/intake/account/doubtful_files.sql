{% import "sources/intake/account/macros.sql" as m %}
update ops.files set status = {{ read | literal }}, reason = null, next_step = null
where status = {{ doubtful | literal }};
update ops.files set
    status = {{ doubtful | literal }}, reason = found.reason,
    next_step = 'Look at ops.quarantine; raise [quarantine] max_share in cluster.toml if that is right.'
from ({{ m.doubtful_files() }}) as found
where found.cluster_id = files.cluster_id and found.path = files.path and files.status = {{ read | literal }}
