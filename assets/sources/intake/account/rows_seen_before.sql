{# Rows in versions of queue snapshots that an earlier snapshot has too. #}
insert into superseded_rows
select distinct later.rowid
from raw.squeue_exclusions as later
semi join versions using (cluster_id, path)
inner join raw.squeue_exclusions as seen
    on seen.cluster_id = later.cluster_id and seen.job_id_raw = later.job_id_raw and seen.node_name = later.node_name
where (seen.seen_at, seen.path) < (later.seen_at, later.path)
