-- Health checks that were added while the records ran, or of which that cannot be told. One row per cluster and check.
select * from marts.agg_check_introductions
where source = 'health_check' and coalesce(is_introduction, true)
order by cluster_id, first_reported_at, check_name
