{%- set named_cause -%}
    cast(nullif(regexp_extract(
        lower(message), {{ regex_literal('\\): *45,.*caused by previous xid (\\d{1,4})\\b') }}, 1
    ), '') as integer)
{%- endset %}
{%- set needs_recovery = "(classified.is_required and classified.failure_category = 'consequence')" %}

with

-- A clean-up names the error that cost a program its GPU. That error was fatal, even if the driver did not say so.
messages as (

    select
        {{ exclude_columns('is_fatal') }},
        coalesce(is_fatal, false) or {{ named_cause }} is not null as is_fatal,
        {{ named_cause }} as named_code,
        coalesce({{ regex_matches('lower(recovery_action)', "'(reset|reboot) required'") }}, false) as is_required
    from {{ ref('stg_kernel__messages') }}
    where node_id is not null

),

rules as (

    select * from {{ ref('kernel_rules') }}

),

xids as (

    select * from {{ ref('xids') }}

),

site_xids as (

    select * from {{ ref('stg_config__rules') }}
    where kind = 'xid'

),

site_rules as (

    select * from {{ ref('stg_config__rules') }}
    where kind = 'kernel'

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
    left join xids on coalesce(messages.named_code, messages.code) = xids.code
    left join site_xids
        on
            messages.cluster_id = site_xids.cluster_id
            and coalesce(messages.named_code, messages.code) = site_xids.code
    where messages.kind = 'xid'

),

of_rules as (

    select
        messages.*,
        coalesce(rules.is_event, true) as is_event,
        coalesce(site_rules.failure_category, rules.failure_category, 'unmapped') as failure_category,
        nullif(rules.co_category, 'none') as co_category,
        coalesce(site_rules.severity, rules.severity, 'low') as severity,
        coalesce(site_rules.evidence_class, rules.evidence_class, 'none') as evidence_class
    from messages
    left join rules on messages.rule = rules.rule
    -- A site may change its rule after the log was read.
    left join site_rules
        on
            messages.cluster_id = site_rules.cluster_id
            and messages.rule = 'site_rule: ' || site_rules.pattern
    where messages.kind != 'xid'

),

-- The end of a fault, or the load of a driver, is no symptom.
other_messages as (

    select {{ exclude_columns('is_event') }}
    from of_rules
    where is_event

),

endings as (

    select
        messages.cluster_id,
        messages.node_id,
        messages.pci_address,
        messages.occurred_at,
        rules.ends
    from messages
    inner join rules on messages.rule = rules.rule
    where rules.ends is not null

),

-- A GPU that the driver reset within the minute works again, so the hang proves no failure.
ended as (

    select distinct
        other_messages.cluster_id,
        other_messages.node_id,
        other_messages.kind,
        other_messages.pci_address,
        other_messages.occurred_at
    from other_messages
    inner join endings
        on
            other_messages.cluster_id = endings.cluster_id
            and other_messages.node_id = endings.node_id
            and other_messages.kind = endings.ends
            and other_messages.pci_address is not distinct from endings.pci_address
            and other_messages.occurred_at <= endings.occurred_at
            and other_messages.occurred_at >= endings.occurred_at - interval 60 second

),

classified as (

    select * from gpu_errors
    union all
    select * from other_messages

),

-- The driver requests a reset of a GPU or a reboot of its node: the error reported just before was that severe.
drastic_recoveries as (

    select
        cluster_id,
        node_id,
        pci_address,
        occurred_at
    from messages
    where {{ regex_matches('lower(recovery_action)', "'reset|reboot'") }}

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

),

-- A clean-up, or a request for a reset or reboot, follows a fault. If the log proves that fault, it adds nothing;
-- otherwise it is the proof.
followed as (

    select
        followers.cluster_id,
        followers.node_id,
        followers.pci_address,
        followers.occurred_at,
        followers.code,
        bool_or(faults.evidence_class = 'A') as has_proof,
        {{ first_by('faults.failure_category', severity_rank('faults.severity')) }} as failure_category
    from classified as followers
    inner join classified as faults
        on
            followers.cluster_id = faults.cluster_id
            and followers.node_id = faults.node_id
            and followers.pci_address = faults.pci_address
            and abs({{ seconds_between('faults.occurred_at', 'followers.occurred_at') }}) <= 60
            and (followers.named_code is null or (faults.named_code is null and followers.named_code = faults.code))
    inner join {{ ref('failure_categories') }} as categories on faults.failure_category = categories.failure_category
    where
        categories.is_infrastructure
        and (followers.named_code is not null or {{ needs_recovery | replace('classified', 'followers') }})
    group by
        followers.cluster_id, followers.node_id, followers.pci_address, followers.occurred_at, followers.code

)

select
    classified.cluster_id,
    {{ content_id([
        'classified.cluster_id', 'classified.node_id', "'kernel'", 'classified.kind', 'classified.code',
        'classified.pci_address', 'classified.occurred_at', 'classified.message'
    ]) }} as event_id,
    classified.node_id,
    classified.kind,
    classified.code,
    classified.pci_address,
    classified.occurred_at,
    case
        when followed.has_proof then 'consequence'
        when {{ needs_recovery }} then coalesce(followed.failure_category, 'gpu_unavailable')
        else classified.failure_category
    end as failure_category,
    case when not coalesce(followed.has_proof, false) then classified.co_category end as co_category,
    case
        when followed.has_proof then 'info'
        when recovered.node_id is not null and ({{ needs_recovery }} or classified.failure_category != 'consequence')
            then 'high'
        else classified.severity
    end as severity,
    case
        when followed.has_proof then 'none'
        when {{ needs_recovery }} then 'A'
        when ended.node_id is not null then {{ cap_at_supporting('classified.evidence_class') }}
        else classified.evidence_class
    end as evidence_class,
    {{ message_key('classified.message') }} as message_key,
    {{ file_key('classified.source_path') }} as file_key,
    classified.source_line_number
from classified
left join followed
    on
        classified.cluster_id = followed.cluster_id
        and classified.node_id = followed.node_id
        and classified.pci_address = followed.pci_address
        and classified.occurred_at = followed.occurred_at
        and classified.code = followed.code
left join recovered
    on
        classified.cluster_id = recovered.cluster_id
        and classified.node_id = recovered.node_id
        and classified.pci_address = recovered.pci_address
        and classified.occurred_at = recovered.occurred_at
left join ended
    on
        classified.cluster_id = ended.cluster_id
        and classified.node_id = ended.node_id
        and classified.kind = ended.kind
        and classified.pci_address is not distinct from ended.pci_address
        and classified.occurred_at = ended.occurred_at
