-- Lines of the input files. One row per cluster and kind of log, and one for all.
select
    coalesce(cluster_id, 'all') as cluster_id,
    kind,
    count(*) as file_count,
    sum(lines_in) as lines_in,
    sum(loaded) as loaded,
    sum(skipped) as skipped,
    sum(quarantined) as quarantined
from ops.files
group by grouping sets ((cluster_id, kind), ())
having count(*) > 0
order by grouping(kind), cluster_id, kind
