with

unknown_lines as (

    select * from {{ ref('stg_logs__unknown_lines') }}
    -- A host outside the cluster, such as a log server, says nothing about its nodes.
    where
        node_id is not null
        or source_kind = 'slurmctld'

),

in_files as (

    select
        cluster_id,
        shape,
        node_id,
        {{ time_slot('first_at', 300) }} as slot,
        source_path,
        min(source_line_number) as source_line_number,
        min(first_at) as first_at,
        max(last_at) as last_at,
        sum(line_count) as line_count,
        max(example) as example
    from unknown_lines
    group by cluster_id, shape, node_id, slot, source_path

),

-- syslog and kern.log, or two copies of a log, have the same lines. Count those of the file with the most.
counted_once as (

    select *
    from in_files
    qualify
        row_number() over (
            partition by cluster_id, shape, node_id, slot order by line_count desc, source_path asc
        ) = 1

),

shapes as (

    select
        cluster_id,
        shape,
        row_number() over (partition by cluster_id order by sum(line_count) desc, shape asc) as place
    from counted_once
    group by cluster_id, shape

),

examples as (

    select
        cluster_id,
        shape,
        example
    from in_files
    where example is not null
    qualify row_number() over (partition by cluster_id, shape order by first_at, source_path, source_line_number) = 1

)

select
    counted_once.cluster_id,
    counted_once.shape,
    counted_once.node_id,
    counted_once.first_at,
    counted_once.last_at,
    cast(counted_once.line_count as bigint) as line_count,
    examples.example,
    counted_once.source_path,
    counted_once.source_line_number
from counted_once
inner join shapes
    on
        counted_once.cluster_id = shapes.cluster_id
        and counted_once.shape = shapes.shape
        and shapes.place <= 1000
inner join examples
    on
        counted_once.cluster_id = examples.cluster_id
        and counted_once.shape = examples.shape
