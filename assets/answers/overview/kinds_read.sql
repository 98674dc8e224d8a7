-- Kinds of logs from which at least one line was read. One row per cluster and kind.
select distinct
    cluster_id,
    kind
from ops.files
where loaded > 0
order by cluster_id, kind
