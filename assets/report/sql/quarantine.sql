-- Quarantined lines by reason, with the first of each as an example. One row per cluster and reason.
select
    cluster_id,
    reason,
    count(*) as line_count,
    count(distinct path) as file_count,
    min_by(path, (path, line_number)) as example_path,
    min_by(line_number, (path, line_number)) as example_line_number,
    min_by(left(raw, 200), (path, line_number)) as example_raw,
    min_by(left(detail, 200), (path, line_number)) as example_detail
from ops.quarantine
group by all
order by cluster_id, line_count desc, reason
