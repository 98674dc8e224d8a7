{#-
    Pairs of an end and its follower: each follower takes the latest end of its work that no earlier follower took, like
    a stack. Ends push, followers pop. The height of the stack is a running sum that restarts at its lowest point. A
    follower's end is the previous row at the same height. An end before the follower's `not_before` is taken, but links
    nothing. Takes two tables of (work_key, job_key, event_at); followers have not_before, too.
-#}
{% macro pair_with_latest_end(ends, followers) -%}
    with

    events as (

        select
            work_key,
            job_key,
            event_at,
            cast(null as timestamp) as not_before,
            0 as is_follower
        from {{ ends }}

        union all

        select
            work_key,
            job_key,
            event_at,
            not_before,
            1 as is_follower
        from {{ followers }}

    ),

    balanced as (

        select
            *,
            sum(1 - 2 * is_follower) over (
                partition by work_key
                order by event_at, is_follower, job_key
                rows between unbounded preceding and current row
            ) as balance
        from events

    ),

    floored as (

        select
            *,
            least(0, min(balance) over (
                partition by work_key
                order by event_at, is_follower, job_key
                rows between unbounded preceding and 1 preceding
            )) as lowest_before
        from balanced

    ),

    paired as (

        select
            job_key,
            not_before,
            is_follower,
            lag(job_key) over same_height as previous_job_key,
            lag(event_at) over same_height as previous_event_at
        from floored
        -- For a follower below the lowest point, the stack was empty.
        where
            is_follower = 0
            or balance >= coalesce(lowest_before, 0)
        window same_height as (
            partition by work_key, coalesce(lowest_before, 0), balance + is_follower
            order by event_at, is_follower, job_key
        )

    )

    select
        job_key,
        previous_job_key
    from paired
    where
        is_follower = 1
        and previous_event_at >= not_before
{%- endmacro %}
