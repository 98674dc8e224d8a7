-- Rows of all tables belong to a cluster of the dimension. One test for all tables, because dbt's overhead of one test
-- per table exceeds the query time.
{{ config(meta={'dagster': {'ref': {'name': 'dim_clusters'}}}) }}

{% set tables = [
    'agg_attribution_controls',
    'agg_availability_monthly',
    'agg_check_introductions',
    'agg_cooccurrence',
    'agg_crash_loops',
    'agg_failure_rates_by_cause',
    'agg_failure_rates_daily',
    'agg_job_sizes',
    'agg_job_states',
    'agg_lemon_signals',
    'agg_lost_goodput',
    'agg_lost_hours_by_account',
    'agg_lost_hours_by_account_monthly',
    'agg_unmapped_signals',
    'dim_annotations',
    'dim_node_versions',
    'dim_nodes',
    'dim_study_gaps',
    'dim_units_in_service',
    'fct_attempts',
    'fct_failure_evidence',
    'fct_failures',
    'fct_health_events',
    'fct_incident_suspects',
    'fct_incidents',
    'fct_job_exclusions',
    'fct_node_days',
    'fct_node_outages',
    'fct_preemptions',
    'fct_tickets',
    'fct_unit_failures',
] %}

with

clusters as (

    select * from {{ ref('dim_clusters') }}

),

mentions as (

    {% for table in tables %}
        select distinct
            '{{ table }}' as table_name,
            cluster_id
        from {{ ref(table) }}
        {{ 'union all' if not loop.last }}
    {% endfor %}

)

select
    mentions.table_name,
    mentions.cluster_id
from mentions
left join clusters on mentions.cluster_id = clusters.cluster_id
where clusters.cluster_id is null
