with

kernel_messages as (

    select * from {{ ref('stg_kernel__messages') }}

),

slurmctld_events as (

    select * from {{ ref('stg_slurmctld__events') }}

),

snapshots as (

    select * from {{ ref('stg_inventory__snapshots') }}

),

logged_by_kernel as (

    select
        cluster_id,
        node_id,
        occurred_at as booted_at
    from kernel_messages
    where kind = 'boot'

),

-- The controller notices a reboot when the node registers again.
noticed_by_slurmctld as (

    select
        cluster_id,
        node_id,
        coalesce({{ told_boot_time() }}, logged_at) as booted_at
    from slurmctld_events
    where kind = 'node_rebooted'

),

told_by_inventory as (

    select
        cluster_id,
        node_id,
        booted_at
    from snapshots
    where booted_at is not null

)

select
    cluster_id,
    node_id,
    booted_at
from logged_by_kernel
where node_id is not null
union
select
    cluster_id,
    node_id,
    booted_at
from noticed_by_slurmctld
where node_id is not null
union
select
    cluster_id,
    node_id,
    booted_at
from told_by_inventory
