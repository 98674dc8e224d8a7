with

node_events as (

    select * from {{ ref('stg_sacctmgr__node_events') }}

),

slurmctld_events as (

    select * from {{ ref('stg_slurmctld__events') }}

),

nodes as (

    select * from {{ ref('stg_inventory__nodes') }}

),

rules as (

    select * from {{ ref('node_reason_rules') }}

),

origin_rules as (

    select * from {{ ref('node_reason_origins') }}

),

known_checks as (

    select * from {{ ref('health_checks') }}

),

message_rules as (

    select * from {{ ref('health_check_rules') }}

),

xids as (

    select * from {{ ref('xids') }}

),

categories as (

    select * from {{ ref('failure_categories') }}

),

-- Texts Slurm gives a node by itself; its log tells the occasion and leaves the text out.
slurm_texts as (

    select {{ unnest_list(list_literal([
        "'prolog error'", "'epilog error'", "'not responding'", "'node unexpectedly rebooted'"
    ])) }} as reason_key

),

reasons as (

    select lower(reason) as reason_key
    from node_events
    where reason is not null
    union
    select lower(reason) as reason_key
    from slurmctld_events
    where reason is not null
    union
    select lower(reason) as reason_key
    from nodes
    where reason is not null
    union
    select reason_key from slurm_texts

),

first_rule as (

    select
        reasons.reason_key,
        rules.failure_category,
        rules.severity,
        rules.evidence_class
    from reasons
    inner join rules on {{ regex_matches('reasons.reason_key', 'rules.pattern') }}
    qualify row_number() over (partition by reasons.reason_key order by rules.rule_order) = 1

),

first_origin as (

    select
        reasons.reason_key,
        origin_rules.origin
    from reasons
    inner join origin_rules on {{ regex_matches('reasons.reason_key', 'origin_rules.pattern') }}
    qualify row_number() over (partition by reasons.reason_key order by origin_rules.rule_order) = 1

),

-- A reason that quotes a check, "HC: check name: message", says what the check's own result says.
first_check as (

    select
        reasons.reason_key,
        known_checks.check_key,
        known_checks.failure_category,
        known_checks.severity,
        known_checks.evidence_class
    from reasons
    inner join known_checks
        on
            known_checks.origin = 'gcm'
            and contains(reasons.reason_key, known_checks.check_key || ':')
    left join first_rule on reasons.reason_key = first_rule.reason_key
    where coalesce(first_rule.failure_category, 'unmapped') not in ('planned', 'by_xid')
    qualify
        row_number() over (
            partition by reasons.reason_key order by length(known_checks.check_key) desc, known_checks.check_key
        ) = 1

),

first_message as (

    select
        first_check.reason_key,
        message_rules.failure_category,
        message_rules.severity,
        message_rules.evidence_class
    from first_check
    inner join message_rules
        on
            first_check.check_key = message_rules.check_key
            and {{ regex_matches("'CRITICAL: ' || first_check.reason_key", 'message_rules.pattern') }}
    qualify
        row_number() over (
            partition by first_check.reason_key
            order by {{ evidence_rank('message_rules.evidence_class') }}, message_rules.rule_order
        ) = 1

),

-- The number after "Xid" and after the bracket with the PCI address, never a number inside that bracket.
codes_listed as (

    select
        reason_key,
        {{ unnest_list(
            'array_distinct(regexp_extract_all(reason_key, '
            ~ regex_literal('\\bxid(?:\\s+errors?)?(?:\\s*\\([^)]*\\))?\\s*[:=#]?[\\s\\[]*(\\d{1,3})\\b')
            ~ ', 1))'
        ) }} as code_text
    from first_rule
    where failure_category = 'by_xid'

),

codes_known as (

    select
        codes_listed.reason_key,
        cast(codes_listed.code_text as integer) as code,
        coalesce(xids.failure_category, 'unknown_xid') as failure_category,
        nullif(xids.co_category, 'none') as co_category,
        coalesce(xids.severity, 'low') as severity,
        coalesce(xids.evidence_class, 'B') as evidence_class
    from codes_listed
    left join xids on cast(codes_listed.code_text as integer) = xids.code

),

first_code as (

    select codes_known.*
    from codes_known
    left join categories on codes_known.failure_category = categories.failure_category
    qualify
        row_number() over (
            partition by codes_known.reason_key
            order by
                {{ severity_rank('codes_known.severity') }},
                {{ evidence_rank('codes_known.evidence_class') }},
                categories.priority nulls last,
                codes_known.code
        ) = 1

)

select
    reasons.reason_key,
    first_code.code,
    coalesce(
        first_code.failure_category,
        first_message.failure_category,
        first_check.failure_category,
        first_rule.failure_category,
        'unmapped'
    ) as failure_category,
    first_code.co_category,
    coalesce(
        first_code.severity, first_message.severity, first_check.severity, first_rule.severity, 'low'
    ) as severity,
    coalesce(
        first_code.evidence_class,
        first_message.evidence_class,
        first_check.evidence_class,
        first_rule.evidence_class,
        'none'
    ) as evidence_class,
    coalesce(first_rule.failure_category = 'planned', false) as is_planned,
    -- Slurm and health checks write known texts; whatever else stands there, a person wrote.
    coalesce(first_origin.origin, 'administrator') as origin
from reasons
left join first_rule on reasons.reason_key = first_rule.reason_key
left join first_origin on reasons.reason_key = first_origin.reason_key
left join first_code on reasons.reason_key = first_code.reason_key
left join first_check on reasons.reason_key = first_check.reason_key
left join first_message on reasons.reason_key = first_message.reason_key
