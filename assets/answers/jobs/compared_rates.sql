-- Compared incident rates: one cluster at two times, or two clusters; real clusters are compared only with real ones.
-- One row per comparison and cluster in it.
with shown as (
    select *
    from estimates.est_rate_ratios
    where has_enough_data
    qualify
        counted_as = 'incidents'
        and case comparison
            when 'months' then is_reference or event_count > 0
            else bool_or(is_reference) over (
                partition by comparison, cluster_id, other_cluster_id, boundary_date, population
            )
        end
),

sides as (
    select *, cluster_id as own_id from shown
    union all
    select *, other_cluster_id from shown where comparison = 'clusters'
)

select
    * replace (own_id as cluster_id),
    if(own_id = cluster_id, 'this cluster', cluster_id) || ' over '
    || if(own_id = other_cluster_id, 'this cluster', other_cluster_id)
    || if(is_simulated or other_is_simulated, ' (simulated)', '') as clusters_compared,
    -- A side of a few minutes would stretch the axis over decades.
    coalesce(ratio > 0 and least(node_days, other_node_days) >= 30, false) as is_drawn
from sides
inner join (select cluster_id as own_id, is_simulated as own_is_simulated from marts.dim_clusters) as own using (own_id)
where own_is_simulated or not (is_simulated or other_is_simulated)
order by not is_drawn, comparison = 'clusters', comparison, not is_reference, population, clusters_compared
