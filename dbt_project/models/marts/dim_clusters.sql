with

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

records as (

    select * from {{ ref('stg_sacct__records') }}

),

nodes as (

    select * from {{ ref('dim_nodes') }}

),

failure_records as (

    select * from {{ ref('stg_failures__records') }}

),

inventory as (

    select * from {{ ref('stg_inventory__nodes') }}

),

files as (

    select * from {{ ref('stg_ops__files') }}

),

study_periods as (

    select * from {{ ref('int_study_periods') }}

),

outdated as (

    select * from {{ ref('int_outdated_clusters') }}

),

accounting as (

    select
        cluster_id,
        min(submitted_at) as first_at,
        max(greatest(
            submitted_at, coalesce(started_at, submitted_at), coalesce(ended_at, submitted_at),
            -- The elapsed time of a running job ends at the export.
            coalesce(
                started_at + {{ seconds_interval('elapsed_seconds + coalesce(suspended_seconds, 0)') }},
                submitted_at
            )
        )) as last_at,
        bool_or(submit_line is not null) as has_submit_lines
    from records
    group by cluster_id

),

newest_inventories as (

    select
        cluster_id,
        max(captured_at) as captured_at
    from inventory
    group by cluster_id

),

-- Leave out nodes that the newest inventory lacks and that no log has named for 30 days.
nodes_there as (

    select
        nodes.cluster_id,
        nodes.gpu_count,
        nodes.first_seen_at,
        nodes.last_seen_at,
        coalesce(
            inventory.captured_at >= newest_inventories.captured_at
            or nodes.last_seen_at >= least(
                newest_inventories.captured_at, coalesce(accounting.last_at, newest_inventories.captured_at)
            ) - {{ seconds_interval('30 * 86400') }},
            true
        ) as is_there
    from nodes
    left join newest_inventories on nodes.cluster_id = newest_inventories.cluster_id
    left join accounting on nodes.cluster_id = accounting.cluster_id
    left join inventory
        on
            nodes.cluster_id = inventory.cluster_id
            and nodes.node_id = inventory.node_id

),

node_totals as (

    select
        cluster_id,
        count(case when is_there then 1 end) as node_count,
        sum(case when is_there then gpu_count end) as gpu_count,
        count(case when is_there and gpu_count > 0 then 1 end) as gpu_node_count,
        min(first_seen_at) as first_at,
        max(last_seen_at) as last_at
    from nodes_there
    group by cluster_id

),

-- Units other than nodes are known only from their failure records.
recorded_failures as (

    select
        cluster_id,
        min(started_at) as first_at,
        max(coalesce(ended_at, started_at)) as last_at
    from failure_records
    group by cluster_id

),

gpu_node_kinds as (

    select
        cluster_id,
        gpu_count as gpus_per_node,
        count(*) as node_count
    from nodes
    where
        gpu_count_source = 'inventory'
        and gpu_count > 0
    group by cluster_id, gpu_count

),

-- The most common GPU count of GPU nodes in the inventory; the larger of two equally common ones.
gpus_of_most_nodes as (

    select
        cluster_id,
        gpus_per_node
    from gpu_node_kinds
    qualify row_number() over (partition by cluster_id order by node_count desc, gpus_per_node desc) = 1

),

-- A log without relevant lines is still a log: a file of the kind was read and understood.
kinds_read as (

    select
        cluster_id,
        bool_or(kind = 'health') as has_health_checks,
        bool_or(kind = 'kernel') as has_kernel_messages,
        bool_or(kind = 'events') as has_node_events,
        bool_or(kind = 'slurmctld') as has_slurmctld_log,
        bool_or(kind = 'tickets') as has_tickets,
        bool_or(kind = 'inventory') as has_inventory,
        bool_or(kind = 'squeue') as has_squeue
    from files
    where
        loaded_count + skipped_count > 0
        and status is distinct from 'blind'
    group by cluster_id

)

select
    clusters.cluster_id,
    clusters.is_simulated,
    clusters.timezone,
    cast(coalesce(node_totals.node_count, 0) as integer) as node_count,
    cast(coalesce(node_totals.gpu_count, 0) as integer) as gpu_count,
    cast(coalesce(node_totals.gpu_node_count, 0) as integer) as gpu_node_count,
    coalesce(gpus_of_most_nodes.gpus_per_node, clusters.gpus_per_node) as gpus_per_node,
    clusters.gpu_model,
    clusters.price_per_gpu_hour,
    clusters.currency,
    clusters.checkpoint_minutes,
    clusters.restart_minutes,
    clusters.write_minutes,
    coalesce(accounting.first_at, least(node_totals.first_at, recorded_failures.first_at)) as first_at,
    coalesce(accounting.last_at, greatest(node_totals.last_at, recorded_failures.last_at)) as last_at,
    study_periods.study_from_at,
    study_periods.study_to_at,
    study_periods.data_through_at,
    accounting.cluster_id is not null as has_accounting,
    coalesce(kinds_read.has_health_checks, false) as has_health_checks,
    coalesce(kinds_read.has_kernel_messages, false) as has_kernel_messages,
    coalesce(kinds_read.has_node_events, false) as has_node_events,
    coalesce(kinds_read.has_slurmctld_log, false) as has_slurmctld_log,
    coalesce(kinds_read.has_tickets, false) as has_tickets,
    coalesce(kinds_read.has_inventory, false) as has_inventory,
    coalesce(kinds_read.has_squeue, false) or coalesce(accounting.has_submit_lines, false) as has_exclusions,
    clusters.config_path is not null as is_configured,
    -- A cluster that cannot be built has no row here. Publication adds its row from the last publication.
    outdated.cluster_id is not null as is_stale,
    outdated.reason as stale_reason,
    case
        when outdated.cluster_id is not null
            then coalesce(outdated.pulled_to_at, study_periods.data_through_at, outdated.noted_at)
    end as built_at
from clusters
left join accounting on clusters.cluster_id = accounting.cluster_id
left join study_periods on clusters.cluster_id = study_periods.cluster_id
left join node_totals on clusters.cluster_id = node_totals.cluster_id
left join recorded_failures on clusters.cluster_id = recorded_failures.cluster_id
left join gpus_of_most_nodes on clusters.cluster_id = gpus_of_most_nodes.cluster_id
left join kinds_read on clusters.cluster_id = kinds_read.cluster_id
left join outdated on clusters.cluster_id = outdated.cluster_id
