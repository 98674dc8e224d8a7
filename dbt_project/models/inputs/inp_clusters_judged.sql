with least as (
    select
        7 as study_days,
        3 as incidents,
        -- incidents per 1,000 node-days, as fleets publish them: 2.3 to 6.5
        4.2 as usual_rate
),

clusters as (
    select
        clusters.cluster_id,
        clusters.has_accounting,
        clusters.is_simulated,
        epoch(clusters.study_to_at - clusters.study_from_at) as study_seconds,
        -- no visible incident says as little as no incident
        coalesce(counts.failure_count, 0) as incident_count,
        coalesce(counts.node_days, 0) as node_days
    from {{ ref('dim_clusters') }} as clusters
    left join {{ ref('inp_failures_counted') }} as counts
        on
            clusters.cluster_id = counts.cluster_id
            and counts.month_date is null
            and counts.population = 'all'
            and counts.counted_as = 'incidents'
),

reasons as (
    select
        clusters.cluster_id,
        clusters.has_accounting,
        clusters.is_simulated,
        case
            when not clusters.has_accounting then 'no accounting'
            when clusters.study_seconds is null then 'accounting has no study period'
            when clusters.study_seconds < 86400 * least.study_days
                then format(
                    'the study period has {}, and {} days are needed',
                    case
                        when clusters.study_seconds < 7200 then format('{:.3g} minutes', clusters.study_seconds / 60)
                        when clusters.study_seconds < 172800 then format('{:.3g} hours', clusters.study_seconds / 3600)
                        else format('{:.3g} days', clusters.study_seconds / 86400)
                    end,
                    least.study_days
                )
            when
                clusters.incident_count < least.incidents
                and clusters.node_days * least.usual_rate / 1000 < least.incidents
                then format(
                    'incidents seen: {:.2g} in {:.3g} node-days, where {:.2g} would be usual; {} are needed',
                    clusters.incident_count,
                    clusters.node_days,
                    clusters.node_days * least.usual_rate / 1000,
                    least.incidents
                )
        end as reason
    from clusters
    cross join least
)

select
    cluster_id,
    is_simulated,
    reason is null as has_enough_data,
    if(has_accounting, 'too little to tell: ', '') || reason as note
from reasons
