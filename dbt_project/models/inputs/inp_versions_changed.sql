with versions as (
    select
        cluster_id,
        component,
        node_id,
        version,
        first_seen_at,
        min(first_seen_at) over (partition by cluster_id, component, version) as version_first_at,
        min(first_seen_at) over (partition by cluster_id, component, node_id) as node_first_at,
        min(last_seen_at) over (partition by cluster_id, component, node_id) < first_seen_at as is_after_another
    from {{ ref('dim_node_versions') }}
),

shown as (
    select
        versions.*,
        is_after_another
        or (
            versions.first_seen_at = versions.node_first_at
            and coalesce(nodes.first_seen_at < versions.version_first_at, false)
            and (
                select count(distinct others.node_id) >= 5
                from versions as others
                where
                    others.cluster_id = versions.cluster_id
                    and others.component = versions.component
                    and others.node_first_at < versions.version_first_at
            )
        ) as is_change
    from versions
    left join {{ ref('dim_nodes') }} as nodes using (cluster_id, node_id)
),

-- Versions of a component that begin on one day are one change, for instance firmware of several adapters.
new_versions as (
    select
        cluster_id,
        component,
        changed_date,
        list(version order by version) as versions
    from (
        select
            cluster_id,
            component,
            version,
            cast(min(first_seen_at) as date) as changed_date
        from shown
        where is_change
        group by cluster_id, component, version
    ) as first_days
    group by cluster_id, component, changed_date
),

compared as (
    select
        new_versions.*,
        shown.node_id,
        min(shown.first_seen_at) filter (where shown.is_change and shown.version in new_versions.versions)
            as node_changed_at,
        bool_or(shown.version in new_versions.versions) as has_version
    from new_versions
    inner join shown using (cluster_id, component)
    group by all
)

-- A node that had the version from the start, or reverted it, says nothing about the change.
select
    cluster_id,
    component as change_kind,
    min(node_changed_at) over of_change as changed_at,
    max(node_changed_at) over of_change as last_changed_at,
    concat(component, ' ', list_aggregate(versions, 'string_agg', ', ')) as change,
    node_id,
    node_changed_at
from compared
where node_changed_at is not null or not has_version
window of_change as (partition by cluster_id, component, changed_date)
qualify count(node_changed_at) over of_change >= 0.1 * count(*) over of_change
