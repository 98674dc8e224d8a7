{#-
    CTE of the first and last day on which jobs excluded a node.

    exclusions: the table marts.fct_job_exclusions, because a CTE that is read twice would be computed and stored first.
    Queue snapshots may repeat a submit line's exclusions. Few jobs are in snapshots, so few need aggregation.
-#}
{% macro jobs_excluding_nodes(exclusions) -%}
    with

    queued_jobs as (

        select distinct
            cluster_id,
            job_id_raw
        from {{ exclusions }}
        where source = 'squeue'

    )

    select
        exclusions.cluster_id,
        exclusions.node_id,
        cast(exclusions.first_seen_at as date) as first_date,
        cast(coalesce(exclusions.last_seen_at, exclusions.first_seen_at) as date) as last_date
    from {{ exclusions }} as exclusions
    left join queued_jobs
        on
            exclusions.cluster_id = queued_jobs.cluster_id
            and exclusions.job_id_raw = queued_jobs.job_id_raw
    where
        exclusions.first_seen_at is not null
        and queued_jobs.job_id_raw is null

    union all

    select
        exclusions.cluster_id,
        exclusions.node_id,
        cast(min(exclusions.first_seen_at) as date) as first_date,
        cast(max(coalesce(exclusions.last_seen_at, exclusions.first_seen_at)) as date) as last_date
    from {{ exclusions }} as exclusions
    inner join queued_jobs
        on
            exclusions.cluster_id = queued_jobs.cluster_id
            and exclusions.job_id_raw = queued_jobs.job_id_raw
    where exclusions.first_seen_at is not null
    group by exclusions.cluster_id, exclusions.node_id, exclusions.job_id_raw
{%- endmacro %}
