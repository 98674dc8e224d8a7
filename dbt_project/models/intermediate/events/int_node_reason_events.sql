with

withdrawals as (

    select * from {{ ref('int_node_service_changes') }}
    where is_withdrawal

),

reasons as (

    select * from {{ ref('int_node_reasons_classified') }}

),

events as (

    select * from {{ ref('stg_slurmctld__events') }}
    where
        kind = 'site_rule'
        and node_id is not null

),

site_rules as (

    select * from {{ ref('stg_config__rules') }}
    where kind = 'kernel'

),

in_slurmctld_log as (

    select
        withdrawals.cluster_id,
        withdrawals.node_id,
        withdrawals.changed_at as observed_at,
        'slurmctld' as source,
        withdrawals.reason,
        reasons.code,
        coalesce(reasons.failure_category, 'unmapped') as failure_category,
        reasons.co_category,
        coalesce(reasons.severity, 'info') as severity,
        -- A reason that does not take the node out comments on an older event.
        case
            when withdrawals.state_of_reason is not null then coalesce(reasons.evidence_class, 'none')
            else {{ cap_at_supporting("coalesce(reasons.evidence_class, 'none')") }}
        end as evidence_class,
        coalesce(reasons.origin, 'administrator') as origin,
        withdrawals.job_id_raw,
        withdrawals.source_path,
        withdrawals.source_line_number
    from withdrawals
    left join reasons
        on
            withdrawals.cluster_id = reasons.cluster_id
            and lower(withdrawals.reason) = reasons.reason_key

),

-- A line of the controller that takes no node out of service, but matches a site rule.
by_site_rule as (

    select
        events.cluster_id,
        events.node_id,
        events.logged_at as observed_at,
        'slurmctld' as source,
        events.message as reason,
        cast(null as integer) as code,
        site_rules.failure_category,
        cast(null as string) as co_category,
        site_rules.severity,
        site_rules.evidence_class,
        'slurm' as origin,
        cast(null as bigint) as job_id_raw,
        events.source_path,
        events.source_line_number
    from events
    inner join site_rules
        on
            events.cluster_id = site_rules.cluster_id
            and events.rule_pattern = site_rules.pattern

)

select * from in_slurmctld_log
union all
select * from by_site_rule
