with

messages as (

    select * from {{ ref('stg_kernel__messages') }}
    where node_id is not null

),

kinds as (

    select * from {{ ref('kernel_kinds') }}

),

xids as (

    select * from {{ ref('xids') }}

),

site_xids as (

    select * from {{ ref('stg_config__xid_rules') }}

),

gpu_errors as (

    select
        messages.*,
        coalesce(site_xids.failure_category, xids.failure_category, 'unknown_xid') as failure_category,
        case when site_xids.code is null then nullif(xids.co_category, 'none') end as co_category,
        coalesce(
            site_xids.severity, case when messages.is_fatal then xids.fatal_severity else xids.severity end, 'low'
        ) as severity,
        coalesce(
            site_xids.evidence_class,
            case when messages.is_fatal then xids.fatal_evidence_class else xids.evidence_class end,
            'B'
        ) as evidence_class
    from messages
    left join xids on messages.code = xids.code
    left join site_xids
        on
            messages.cluster_id = site_xids.cluster_id
            and messages.code = site_xids.code
    where messages.kind = 'xid'

),

first_rule as (

    select
        messages.*,
        coalesce(kinds.is_recovery, false) as is_recovery,
        coalesce(kinds.failure_category, 'unmapped') as failure_category,
        nullif(kinds.co_category, 'none') as co_category,
        coalesce(kinds.severity, 'low') as severity,
        coalesce(kinds.evidence_class, 'none') as evidence_class
    from messages
    left join kinds
        on
            messages.kind = kinds.kind
            and (not kinds.is_fatal_only or messages.is_fatal)
            and {{ regex_matches('lower(messages.message)', 'kinds.message_pattern') }}
    where messages.kind != 'xid'
    qualify
        row_number() over (
            partition by
                messages.cluster_id,
                messages.node_id,
                messages.source_path,
                messages.source_line_number,
                messages.kind,
                messages.pci_address,
                messages.code
            order by kinds.rule_order nulls last
        ) = 1

),

-- "Link up" and "server OK" tell that a symptom went away.
other_messages as (

    select {{ exclude_columns('is_recovery') }}
    from first_rule
    where not is_recovery

),

classified as (

    select * from gpu_errors
    union all
    select * from other_messages

),

-- The driver announces that a GPU must be reset or its node rebooted: what it reported just before was that grave.
drastic_recoveries as (

    select
        cluster_id,
        node_id,
        pci_address,
        occurred_at,
        recovery_action
    from messages
    where
        recovery_action is not null
        and {{ regex_matches('lower(recovery_action)', "'reset|reboot'") }}

),

recovered as (

    select distinct
        classified.cluster_id,
        classified.node_id,
        classified.pci_address,
        classified.occurred_at
    from classified
    inner join drastic_recoveries
        on
            classified.cluster_id = drastic_recoveries.cluster_id
            and classified.node_id = drastic_recoveries.node_id
            and classified.pci_address = drastic_recoveries.pci_address
            and abs({{ seconds_between('drastic_recoveries.occurred_at', 'classified.occurred_at') }}) <= 60

)

select
    classified.cluster_id,
    classified.node_id,
    classified.kind,
    classified.code,
    classified.pci_address,
    classified.occurred_at,
    classified.time_quality,
    classified.failure_category,
    classified.co_category,
    case
        when classified.failure_category != 'consequence' and recovered.node_id is not null then 'high'
        else classified.severity
    end as severity,
    classified.evidence_class,
    classified.recovery_action,
    classified.repeat_count,
    classified.line_count,
    classified.message,
    classified.source_path,
    classified.source_line_number
from classified
left join recovered
    on
        classified.cluster_id = recovered.cluster_id
        and classified.node_id = recovered.node_id
        and classified.pci_address = recovered.pci_address
        and classified.occurred_at = recovered.occurred_at
