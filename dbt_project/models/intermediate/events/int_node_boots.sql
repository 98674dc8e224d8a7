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

-- The controller notices a reboot when the node registers again, and prints the boot time or how long ago it was.
noticed_by_slurmctld as (

    select
        cluster_id,
        node_id,
        coalesce(
            {{ timestamp_of_epoch(
                "cast(nullif(regexp_extract(message, " ~ regex_literal('boot_time=(\\d+)') ~ ", 1), '') as bigint)"
            ) }},
            logged_at - {{ seconds_interval(
                "cast(nullif(regexp_extract(message, " ~ regex_literal('rebooted (\\d+) secs? ago')
                ~ ", 1), '') as bigint)"
            ) }},
            logged_at
        ) as booted_at
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
