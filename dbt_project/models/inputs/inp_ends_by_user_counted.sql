with sorted_ends as (
    select
        cluster_id,
        month_date,
        user_name,
        node_count,
        runtime_class,
        count(*) as end_count,
        count(*) filter (where is_unexplained) as failed,
        cast(sum(runtime_seconds) as bigint) as runtime_seconds
    from {{ ref('inp_ends_without_evidence_listed') }}
    where user_name is not null
    group by cluster_id, month_date, user_name, node_count, runtime_class
),

-- A longer attempt was exposed in all classes below its own, even in classes without an end.
longest as (
    select
        cluster_id,
        month_date,
        user_name,
        node_count,
        unnest(range(10, max(runtime_class) + 1)) as runtime_class
    from sorted_ends
    group by cluster_id, month_date, user_name, node_count
),

cells as (
    select
        longest.cluster_id,
        longest.month_date,
        longest.user_name,
        longest.node_count,
        longest.runtime_class,
        coalesce(any_value(sorted_ends.failed) filter (where sorted_ends.runtime_class = longest.runtime_class), 0)
            as failed,
        sum(
            if(
                sorted_ends.runtime_class = longest.runtime_class,
                sorted_ends.runtime_seconds,
                sorted_ends.end_count * (cast(1 as bigint) << longest.runtime_class + 1)
            )
            - if(longest.runtime_class > 10, sorted_ends.end_count * (cast(1 as bigint) << longest.runtime_class), 0)
        ) / 86400 as days
    from longest
    inner join sorted_ends
        on
            longest.cluster_id = sorted_ends.cluster_id
            and longest.month_date = sorted_ends.month_date
            and longest.user_name = sorted_ends.user_name
            and longest.node_count = sorted_ends.node_count
            and longest.runtime_class <= sorted_ends.runtime_class
    group by
        longest.cluster_id, longest.month_date, longest.user_name, longest.node_count, longest.runtime_class
)

select
    cluster_id,
    month_date,
    dense_rank() over (order by cluster_id, user_name) as user_number,
    runtime_class,
    node_count,
    failed,
    days
from cells
