with

checks as (

    select
        *,
        {{ check_stream('check_key') }} as check_stream
    from {{ ref('stg_health__checks') }}
    where
        node_id is not null
        and result_quality = 'ran'
        and result in ('WARN', 'CRITICAL')

),

message_rules as (

    select * from {{ ref('health_check_rules') }}

),

site_checks as (

    select * from {{ ref('int_health_checks_matched') }}

),

checks_with_message_rules as (

    select distinct check_key from message_rules

),

keyed as (

    select
        checks.*,
        case when rules.check_key is not null then checks.message end as telling_message,
        {{ finding_key() }} as finding_key
    from checks
    left join checks_with_message_rules as rules on checks.check_stream = rules.check_key

),

findings as (

    select
        finding_key,
        any_value(cluster_id) as cluster_id,
        any_value(check_name) as check_name,
        any_value(check_key) as check_key,
        any_value(check_stream) as check_stream,
        any_value(check_type) as check_type,
        any_value(result) as result,
        any_value(xid_codes) as xid_codes,
        any_value(telling_message) as message
    from keyed
    group by finding_key

),

xid_codes_listed as (

    select
        finding_key,
        cluster_id,
        {{ unnest_list('array_distinct(xid_codes)') }} as code
    from findings

),

named_by_xid as (

    select
        listed.finding_key,
        'xid ' || listed.code as symptom,
        listed.code,
        coalesce(site_xids.failure_category, xids.failure_category, 'unknown_xid') as failure_category,
        case when site_xids.code is null then nullif(xids.co_category, 'none') end as co_category,
        coalesce(site_xids.severity, xids.severity, 'low') as severity,
        coalesce(site_xids.evidence_class, xids.evidence_class, 'B') as evidence_class
    from xid_codes_listed as listed
    left join {{ ref('xids') }} as xids on listed.code = xids.code
    left join {{ ref('stg_config__rules') }} as site_xids
        on
            site_xids.kind = 'xid'
            and listed.cluster_id = site_xids.cluster_id
            and listed.code = site_xids.code

),

-- Rules of `nhc` apply to all checks of the script: Azure's gives each failure a code. A GCM check may have the name of
-- one of the script.
texts as (

    select
        *,
        {{ unnest_list('array_distinct(' ~ list_literal(['check_stream', 'check_key']) ~ ')') }} as rules_of,
        result || ': ' || coalesce(message, '') as text
    from findings

),

fitting as (

    select
        *,
        {{ unnest_list(orders_of_rules_that_fit('rules_of', 'text')) }} as rule_order
    from texts

),

-- One result can name several faults (an event log, a diagnosis of many tests). Each category is a symptom.
named_by_message as (

    select
        fitting.finding_key,
        rules.failure_category as symptom,
        cast(null as integer) as code,
        rules.failure_category,
        cast(null as string) as co_category,
        rules.severity,
        rules.evidence_class
    from fitting
    inner join message_rules as rules
        on
            fitting.rules_of = rules.check_key
            and fitting.rule_order = rules.rule_order
    -- A site's rule for a check overrides the built-in rules for its messages.
    left join site_checks
        on
            fitting.cluster_id = site_checks.cluster_id
            and fitting.check_key = site_checks.check_key
    -- A diagnosis quotes the Xid of a failed test and may name other failed tests.
    left join named_by_xid
        on
            fitting.finding_key = named_by_xid.finding_key
            and rules.failure_category = named_by_xid.failure_category
    where
        site_checks.check_key is null
        and named_by_xid.finding_key is null
    qualify
        row_number() over (
            partition by fitting.finding_key, rules.failure_category order by rules.rule_order, rules.check_key
        ) = 1

),

named_by_check as (

    select
        findings.finding_key,
        lower(findings.result) as symptom,
        cast(null as integer) as code,
        coalesce(site_checks.failure_category, known_checks.failure_category, 'unmapped') as failure_category,
        cast(null as string) as co_category,
        coalesce(site_checks.severity, known_checks.severity, 'low') as severity,
        coalesce(site_checks.evidence_class, known_checks.evidence_class, 'none') as evidence_class
    from findings
    left join {{ ref('health_checks') }} as known_checks on findings.check_key = known_checks.check_key
    left join site_checks
        on
            findings.cluster_id = site_checks.cluster_id
            and findings.check_key = site_checks.check_key
    where
        {{ list_length('findings.xid_codes') }} = 0
        and findings.finding_key not in (select named_by_message.finding_key from named_by_message)

),

named as (

    select * from named_by_xid
    union all
    select * from named_by_message
    union all
    select * from named_by_check

)

select
    named.finding_key,
    findings.check_key,
    findings.check_name,
    findings.check_type,
    findings.result,
    {{ hash_columns(['named.symptom']) }} as symptom_key,
    named.symptom,
    named.code,
    named.failure_category,
    named.co_category,
    named.severity,
    -- Only a critical result is evidence by itself.
    case
        when findings.result = 'CRITICAL' then named.evidence_class
        else {{ cap_at_supporting('named.evidence_class') }}
    end as evidence_class
from named
inner join findings on named.finding_key = findings.finding_key
