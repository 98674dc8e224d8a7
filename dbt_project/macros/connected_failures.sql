{#-
    Failures with one label per connected group. A failure without links is its own group.

    failures: CTE of (cluster_id, attempt_id, failed_at). links: CTE of (cluster_id, attempt_id, linked_attempt_id),
    each link in both directions; a chain of linked failures has no gap of more than ten minutes. Long, because the two
    engines share no form of recursion.
-#}
{% macro connected_failures(failures, links) -%}
    {{ adapter.dispatch('connected_failures', 'faultline')(failures, links) }}
{%- endmacro %}

{#-
    Each failure points to a label, at first its own. In each pass it takes the smallest of its target's label, its
    neighbours' next labels and the labels found by failures that point to it, until nothing changes (FastSV; Zhang,
    Azad and Buluc 2020). A chain of 10,000 settles in 16 passes; passing labels on would take thousands.
-#}
{% macro default__connected_failures(failures, links) -%}
    with recursive

    labels as (

        select distinct
            cluster_id,
            attempt_id,
            attempt_id as label,
            true as is_changed,
            0 as pass
        from {{ links }}

        union all

        (

            with

            pointers as (

                select
                    own.cluster_id,
                    own.attempt_id,
                    own.label,
                    own.pass,
                    pointed_to.label as next_label
                from labels as own
                inner join labels as pointed_to
                    on
                        own.cluster_id = pointed_to.cluster_id
                        and own.label = pointed_to.attempt_id
                where
                    exists (
                        select 1
                        from labels as unsettled
                        where unsettled.is_changed
                    )

            ),

            nearest as (

                select
                    {{ links }}.cluster_id,
                    {{ links }}.attempt_id,
                    min(neighbours.next_label) as label
                from {{ links }}
                inner join pointers as neighbours
                    on
                        {{ links }}.cluster_id = neighbours.cluster_id
                        and {{ links }}.linked_attempt_id = neighbours.attempt_id
                group by {{ links }}.cluster_id, {{ links }}.attempt_id

            ),

            found_by_followers as (

                select
                    pointers.cluster_id,
                    pointers.label as attempt_id,
                    min(nearest.label) as label
                from pointers
                inner join nearest
                    on
                        pointers.cluster_id = nearest.cluster_id
                        and pointers.attempt_id = nearest.attempt_id
                group by pointers.cluster_id, pointers.label

            )

            select
                pointers.cluster_id,
                pointers.attempt_id,
                least(
                    pointers.next_label, nearest.label, coalesce(found_by_followers.label, nearest.label)
                ) as label,
                least(
                    pointers.next_label, nearest.label, coalesce(found_by_followers.label, nearest.label)
                ) < pointers.label as is_changed,
                pointers.pass + 1 as pass
            from pointers
            inner join nearest
                on
                    pointers.cluster_id = nearest.cluster_id
                    and pointers.attempt_id = nearest.attempt_id
            left join found_by_followers
                on
                    pointers.cluster_id = found_by_followers.cluster_id
                    and pointers.attempt_id = found_by_followers.attempt_id

        )

    )

    select
        {{ failures }}.cluster_id,
        {{ failures }}.attempt_id,
        {{ failures }}.failed_at,
        coalesce(settled.label, {{ failures }}.attempt_id) as label
    from {{ failures }}
    left join labels as settled
        on
            {{ failures }}.cluster_id = settled.cluster_id
            and {{ failures }}.attempt_id = settled.attempt_id
            and settled.pass = (select max(last_pass.pass) from labels as last_pass)
{%- endmacro %}

{#-
    Spark cannot aggregate in a recursion. Instead, it merges the labels of each link in a stretch of time, one by one.
    A stretch has a handful of failures, and Spark processes many stretches at once.
-#}
{% macro spark__connected_failures(failures, links) -%}
    with

    linked_failures as (

        select
            cluster_id,
            attempt_id,
            failed_at,
            lag(failed_at) over (
                partition by cluster_id
                order by failed_at, attempt_id
            ) as previous_failed_at
        from {{ failures }}
        where (cluster_id, attempt_id) in (select cluster_id, attempt_id from {{ links }})

    ),

    stretches as (

        select
            cluster_id,
            attempt_id,
            sum(case when failed_at <= previous_failed_at + interval 600 second then 0 else 1 end) over (
                partition by cluster_id
                order by failed_at, attempt_id
                rows between unbounded preceding and current row
            ) as stretch_number
        from linked_failures

    ),

    positions as (

        select
            *,
            row_number() over (
                partition by cluster_id, stretch_number
                order by attempt_id
            ) - 1 as position
        from stretches

    ),

    links_of_stretches as (

        select
            own.cluster_id,
            own.stretch_number,
            collect_list(struct(own.position as one, other.position as other)) as links
        from {{ links }} as links
        inner join positions as own
            on
                links.cluster_id = own.cluster_id
                and links.attempt_id = own.attempt_id
        inner join positions as other
            on
                links.cluster_id = other.cluster_id
                and links.linked_attempt_id = other.attempt_id
                and own.position < other.position
        group by own.cluster_id, own.stretch_number

    ),

    sizes as (

        select
            cluster_id,
            stretch_number,
            cast(count(*) as integer) as failure_count
        from positions
        group by cluster_id, stretch_number

    ),

    labelled_stretches as (

        select
            links_of_stretches.cluster_id,
            links_of_stretches.stretch_number,
            aggregate(
                links_of_stretches.links,
                sequence(0, sizes.failure_count - 1),
                (labels, link) -> transform(
                    labels, label -> if(label = get(labels, link.other), get(labels, link.one), label)
                )
            ) as labels
        from links_of_stretches
        inner join sizes
            on
                links_of_stretches.cluster_id = sizes.cluster_id
                and links_of_stretches.stretch_number = sizes.stretch_number

    )

    select
        {{ failures }}.cluster_id,
        {{ failures }}.attempt_id,
        {{ failures }}.failed_at,
        coalesce(
            positions.stretch_number || ':' || get(labelled_stretches.labels, positions.position),
            {{ failures }}.attempt_id
        ) as label
    from {{ failures }}
    left join positions
        on
            {{ failures }}.cluster_id = positions.cluster_id
            and {{ failures }}.attempt_id = positions.attempt_id
    left join labelled_stretches
        on
            positions.cluster_id = labelled_stretches.cluster_id
            and positions.stretch_number = labelled_stretches.stretch_number
{%- endmacro %}
