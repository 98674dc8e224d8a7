with

changes as (

    select * from {{ ref('int_health_checks_changed') }}
    where result != 'OK'

),

known_checks as (

    select * from {{ ref('health_checks') }}

),

message_rules as (

    select * from {{ ref('health_check_rules') }}

),

site_checks as (

    select * from {{ ref('int_health_checks_matched') }}

),

xids as (

    select * from {{ ref('xids') }}

),

site_xids as (

    select * from {{ ref('stg_config__xid_rules') }}

),

xid_codes_listed as (

    select
        cluster_id,
        node_id,
        check_stream,
        subject,
        change_number,
        {{ unnest_list('array_distinct(xid_codes)') }} as code
    from changes

),

named_by_xid as (

    select
        listed.cluster_id,
        listed.node_id,
        listed.check_stream,
        listed.subject,
        listed.change_number,
        'xid ' || listed.code as symptom,
        listed.code,
        coalesce(site_xids.failure_category, xids.failure_category, 'unknown_xid') as failure_category,
        case when site_xids.code is null then nullif(xids.co_category, 'none') end as co_category,
        coalesce(site_xids.severity, xids.severity, 'low') as severity,
        coalesce(site_xids.evidence_class, xids.evidence_class, 'B') as evidence_class
    from xid_codes_listed as listed
    left join xids on listed.code = xids.code
    left join site_xids
        on
            listed.cluster_id = site_xids.cluster_id
            and listed.code = site_xids.code

),

-- One result can name several faults (an event log, a diagnosis of many tests): each category is a symptom of its own.
named_by_message as (

    select
        changes.cluster_id,
        changes.node_id,
        changes.check_stream,
        changes.subject,
        changes.change_number,
        rules.failure_category as symptom,
        cast(null as integer) as code,
        rules.failure_category,
        cast(null as string) as co_category,
        rules.severity,
        rules.evidence_class
    from changes
    inner join message_rules as rules
        on
            -- Rules of `nhc` are of all checks of the script: Azure's gives each failure a code.
            -- A check of GCM may be named like one of the script.
            rules.check_key in (changes.check_stream, changes.check_key)
            and {{ regex_matches("changes.result || ': ' || coalesce(changes.message, '')", 'rules.pattern') }}
    where
        -- What the site says of a check comes before what its messages mean elsewhere.
        not exists (
            select 1
            from site_checks
            where
                changes.cluster_id = site_checks.cluster_id
                and changes.check_key = site_checks.check_key
        )
        -- A diagnosis quotes the Xid that failed one of its tests, and may name other tests that failed.
        and not exists (
            select 1
            from named_by_xid
            where
                changes.cluster_id = named_by_xid.cluster_id
                and changes.node_id = named_by_xid.node_id
                and changes.check_stream = named_by_xid.check_stream
                and changes.subject = named_by_xid.subject
                and changes.change_number = named_by_xid.change_number
                and rules.failure_category = named_by_xid.failure_category
        )
    qualify
        row_number() over (
            partition by
                changes.cluster_id,
                changes.node_id,
                changes.check_stream,
                changes.subject,
                changes.change_number,
                rules.failure_category
            order by rules.rule_order
        ) = 1

),

named_by_check as (

    select
        changes.cluster_id,
        changes.node_id,
        changes.check_stream,
        changes.subject,
        changes.change_number,
        lower(changes.result) as symptom,
        cast(null as integer) as code,
        coalesce(site_checks.failure_category, known_checks.failure_category, 'unmapped') as failure_category,
        cast(null as string) as co_category,
        coalesce(site_checks.severity, known_checks.severity, 'low') as severity,
        coalesce(site_checks.evidence_class, known_checks.evidence_class, 'none') as evidence_class
    from changes
    left join known_checks on changes.check_key = known_checks.check_key
    left join site_checks
        on
            changes.cluster_id = site_checks.cluster_id
            and changes.check_key = site_checks.check_key
    where
        {{ list_length('changes.xid_codes') }} = 0
        and not exists (
            select 1
            from named_by_message
            where
                changes.cluster_id = named_by_message.cluster_id
                and changes.node_id = named_by_message.node_id
                and changes.check_stream = named_by_message.check_stream
                and changes.subject = named_by_message.subject
                and changes.change_number = named_by_message.change_number
        )

),

named as (

    select * from named_by_xid
    union all
    select * from named_by_message
    union all
    select * from named_by_check

)

select
    changes.cluster_id,
    changes.node_id,
    changes.check_stream,
    changes.subject,
    changes.change_number,
    changes.episode_number,
    named.symptom,
    named.code,
    named.failure_category,
    named.co_category,
    named.severity,
    -- Only a critical result is evidence by itself.
    case
        when changes.result = 'CRITICAL' then named.evidence_class
        else {{ cap_at_supporting('named.evidence_class') }}
    end as evidence_class
from named
inner join changes
    on
        named.cluster_id = changes.cluster_id
        and named.node_id = changes.node_id
        and named.check_stream = changes.check_stream
        and named.subject = changes.subject
        and named.change_number = changes.change_number
