select
    cluster_id,
    month_date,
    node_count,
    count(*) filter (where is_unexplained) as end_count,
    count(*) filter (where is_control) * node_count as control_windows
from {{ ref('inp_ends_without_evidence_listed') }}
group by cluster_id, month_date, node_count
