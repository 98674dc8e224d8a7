-- Clusters whose evidence may miss much. One row per such cluster.
select cluster_id, statement from estimates.est_evidence_reach where month_date is null and is_doubtful
