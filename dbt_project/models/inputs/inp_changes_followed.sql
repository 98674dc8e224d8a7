with clusters as (
    select
        cluster_id,
        cast(study_from_at as date) as first_date,
        -- a study that ends at midnight does not include the next day
        cast(study_to_at - interval 1 microsecond as date) - cast(study_from_at as date) + 1 as day_count
    from {{ ref('dim_clusters') }}
    where study_from_at is not null
),

-- A new check or note concerns all nodes: one row without a node name.
changes as (
    select
        * replace (coalesce(node_id, '') as node_id),
        cast(null as varchar[]) as failure_categories
    from {{ ref('inp_versions_changed') }}
    union all by name
    select
        cluster_id,
        'check' as change_kind,
        min(first_reported_at) as changed_at,
        max(first_reported_at) as last_changed_at,
        'check ' || string_agg(check_name, ', ' order by check_name) as change,
        '' as node_id,
        changed_at as node_changed_at,
        list(distinct failure_category order by failure_category) as failure_categories
    from {{ ref('agg_check_introductions') }}
    where is_introduction
    group by cluster_id, cast(first_reported_at as date)
    union all by name
    select
        cluster_id,
        'annotation' as change_kind,
        cast(annotated_date as timestamp) as changed_at,
        changed_at as last_changed_at,
        string_agg(annotation, '; ' order by annotation) as change,
        '' as node_id,
        changed_at as node_changed_at,
        null as failure_categories
    from {{ ref('dim_annotations') }}
    group by cluster_id, annotated_date
),

changes_of_nodes as (
    select
        changes.*,
        cast(changes.changed_at as date) - clusters.first_date as first_day,
        cast(changes.last_changed_at as date) - clusters.first_date as last_day,
        cast(changes.node_changed_at as date) - clusters.first_date as changed_day
    from changes
    inner join clusters using (cluster_id)
    where first_day between 0 and clusters.day_count - 1
),

-- A node-day counts if all logs that the cluster usually has of its nodes were understood. If one ends, what can be
-- seen changes.
usual as (
    select
        cluster_id,
        bit_or(kind) as kinds
    from (
        select
            sight.cluster_id,
            bits.kind
        from {{ ref('inp_node_days_seen') }} as sight
        cross join (values (0), (1), (2), (4)) as bits (kind)
        group by sight.cluster_id, bits.kind
        having
            coalesce(sum(sight.study_hours) filter (where sight.kinds & bits.kind = bits.kind), 0)
            >= 0.5 * sum(sight.study_hours)
    )
    group by cluster_id
),

-- Per node, within the study period.
node_days as (
    select
        sight.cluster_id,
        sight.node_id,
        sight.day_date,
        sum(sight.study_hours) as study_hours
    from {{ ref('inp_node_days_seen') }} as sight
    inner join usual using (cluster_id)
    where sight.kinds & usual.kinds = usual.kinds and sight.study_hours > 0
    group by sight.cluster_id, sight.node_id, sight.day_date
),

-- An incident belongs to its most probable culprit. An attempt that failed at midnight ran on the day before.
incidents as (
    select
        cluster_id,
        cast(min(failed_at) - interval 1 microsecond as date) as day_date,
        coalesce(arg_max(culprit_node_id, (failure_probability, culprit_node_id)), '') as culprit_node_id,
        arg_max(failure_category, (failure_probability, failure_category)) as failure_category,
        max(failure_probability) as probability
    from {{ ref('inp_exposures_failed') }}
    where failure_probability > 0
    group by cluster_id, coalesce(incident_id, attempt_id)
),

-- Nodes with the same history of changes are one cohort. A node without a name means unknown nodes.
histories as (
    select
        nodes.cluster_id,
        nodes.node_id,
        list(
            (changes.change_kind, changes.changed_at, changes.changed_day)
            order by changes.changed_at, changes.change_kind
        ) filter (where changes.change_kind is not null) as history
    from (
        select
            cluster_id,
            node_id
        from node_days
        union
        select
            cluster_id,
            node_id
        from changes_of_nodes
        union
        select
            cluster_id,
            '' as node_id
        from changes_of_nodes
    ) as nodes
    left join changes_of_nodes as changes
        on
            nodes.cluster_id = changes.cluster_id
            and nodes.node_id = changes.node_id
            and changes.node_id != ''
    group by nodes.cluster_id, nodes.node_id
),

cohorts as (
    select
        cluster_id,
        node_id,
        dense_rank() over (partition by cluster_id order by history) as cohort
    from histories
),

changes_of_cohorts as (
    select
        cluster_id,
        cohort,
        list(
            {
                'change_kind': change_kind,
                'changed_at': changed_at,
                'last_changed_at': last_changed_at,
                'change': change,
                'failure_categories': failure_categories,
                'is_of_all': is_of_all,
                'first_day': first_day,
                'last_day': last_day,
                'changed_day': changed_day
            }
            order by changed_at, change_kind
        ) as changes
    from (
        select distinct
            cohorts.cluster_id,
            cohorts.cohort,
            changes.node_id = '' as is_of_all,
            changes.* exclude (cluster_id, node_id, node_changed_at)
        from cohorts
        inner join changes_of_nodes as changes
            on
                cohorts.cluster_id = changes.cluster_id
                and changes.node_id in ('', cohorts.node_id)
    ) as each_once
    group by cluster_id, cohort
),

hours as (
    select
        cluster_id,
        cohort,
        list(day order by day) as days,
        list(cast(study_hours as double) / 24 order by day) as node_days
    from (
        select
            cohorts.cluster_id,
            cohorts.cohort,
            node_days.day_date - clusters.first_date as day,
            sum(node_days.study_hours) as study_hours
        from cohorts
        inner join clusters using (cluster_id)
        inner join node_days using (cluster_id, node_id)
        group by all
    ) as of_days
    group by cluster_id, cohort
),

-- An incident does not count if its node-day does not.
failures as (
    select
        cluster_id,
        cohort,
        list(day order by day, cause, probability) as failed_days,
        list(cause order by day, cause, probability) as causes,
        list(probability order by day, cause, probability) as probabilities
    from (
        select
            cohorts.cluster_id,
            cohorts.cohort,
            incidents.day_date - clusters.first_date as day,
            incidents.failure_category as cause,
            incidents.probability
        from incidents
        inner join clusters using (cluster_id)
        inner join cohorts
            on
                incidents.cluster_id = cohorts.cluster_id
                and incidents.culprit_node_id = cohorts.node_id
        semi join node_days
            on
                incidents.cluster_id = node_days.cluster_id
                and incidents.culprit_node_id in ('', node_days.node_id)
                and incidents.day_date = node_days.day_date
    ) as of_cohorts
    group by cluster_id, cohort
)

select
    cohorts.cluster_id,
    cohorts.cohort,
    count(*) filter (where cohorts.node_id != '') as node_count,
    any_value(clusters.day_count) as day_count,
    any_value(changes_of_cohorts.changes) as changes,
    any_value(hours.days) as days,
    any_value(hours.node_days) as node_days,
    any_value(failures.failed_days) as failed_days,
    any_value(failures.causes) as causes,
    any_value(failures.probabilities) as probabilities
from cohorts
inner join clusters using (cluster_id)
inner join changes_of_cohorts using (cluster_id, cohort)
left join hours using (cluster_id, cohort)
left join failures using (cluster_id, cohort)
group by cohorts.cluster_id, cohorts.cohort
