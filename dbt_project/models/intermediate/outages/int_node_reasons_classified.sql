-- Long, because one text meets six kinds of rules in one order, one level above the logs.
with

node_events as (

    select * from {{ ref('stg_sacctmgr__node_events') }}

),

slurmctld_events as (

    select * from {{ ref('stg_slurmctld__events') }}

),

snapshots as (

    select * from {{ ref('stg_inventory__snapshots') }}

),

failure_records as (

    select * from {{ ref('stg_failures__records') }}

),

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

site_rules as (

    select * from {{ ref('stg_config__rules') }}
    where kind = 'node_reason'

),

site_check_rules as (

    select * from {{ ref('stg_config__rules') }}
    where kind = 'health_check'

),

site_checks as (

    select distinct
        cluster_id,
        check_key
    from {{ ref('stg_health__checks') }}
    where cluster_id in (select site_check_rules.cluster_id from site_check_rules)

),

site_xids as (

    select * from {{ ref('stg_config__rules') }}
    where kind = 'xid'

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

-- Texts that Slurm gives a node by itself. Its log has the occasion without the text.
slurm_texts as (

    select {{ unnest_list(list_literal([
        "'prolog error'", "'epilog error'", "'not responding'", "'node unexpectedly rebooted'", "'resumetimeout reached'"
    ])) }} as reason_key

),

reasons as (

    select
        cluster_id,
        lower(reason) as reason_key
    from node_events
    where reason is not null
    union
    select
        cluster_id,
        lower(reason) as reason_key
    from slurmctld_events
    where reason is not null
    union
    select
        cluster_id,
        lower(reason) as reason_key
    from snapshots
    where reason is not null
    union
    select
        cluster_id,
        lower(reason) as reason_key
    from failure_records
    where reason is not null
    union
    select
        clusters.cluster_id,
        slurm_texts.reason_key
    from clusters
    cross join slurm_texts

),

-- Clusters share most texts. Match each text with the built-in rules once.
texts as (

    select distinct reason_key from reasons

),

first_rule as (

    select
        texts.reason_key,
        rules.failure_category,
        rules.severity,
        rules.evidence_class
    from texts
    inner join rules on {{ regex_matches('texts.reason_key', 'rules.pattern') }}
    qualify
        row_number() over (
            partition by texts.reason_key
            order by
                -- A named problem beats an action, because it is the reason for a reboot or repair.
                rules.failure_category in ('planned', 'repair')
                and {{ regex_matches('texts.reason_key', "'(hardware|software|user)_problem'") }},
                rules.rule_order
        ) = 1

),

first_origin as (

    select
        texts.reason_key,
        origin_rules.origin
    from texts
    inner join origin_rules on {{ regex_matches('texts.reason_key', 'origin_rules.pattern') }}
    qualify row_number() over (partition by texts.reason_key order by origin_rules.rule_order) = 1

),

-- A reason that quotes a check, "HC: check name: message", means the same as the check's own result.
quoted_check as (

    select
        texts.reason_key,
        coalesce(message_rules.failure_category, known_checks.failure_category) as failure_category,
        coalesce(message_rules.severity, known_checks.severity) as severity,
        coalesce(message_rules.evidence_class, known_checks.evidence_class) as evidence_class
    from texts
    inner join known_checks
        on
            known_checks.origin = 'gcm'
            and contains(texts.reason_key, known_checks.check_key || ':')
    left join message_rules
        on
            known_checks.check_key = message_rules.check_key
            and {{ regex_matches("'CRITICAL: ' || texts.reason_key", 'message_rules.pattern') }}
    left join first_rule on texts.reason_key = first_rule.reason_key
    where
        first_rule.failure_category is distinct from 'by_xid'
        and not coalesce({{ is_no_fault('first_rule.failure_category') }}, false)
    qualify
        row_number() over (
            partition by texts.reason_key
            order by
                length(known_checks.check_key) desc,
                known_checks.check_key asc,
                {{ evidence_rank('message_rules.evidence_class') }} asc,
                message_rules.rule_order asc
        ) = 1

),

-- Likewise for the site's own checks.
site_check as (

    select
        reasons.cluster_id,
        reasons.reason_key,
        site_check_rules.failure_category,
        site_check_rules.severity,
        site_check_rules.evidence_class
    from reasons
    inner join site_checks
        on
            reasons.cluster_id = site_checks.cluster_id
            and contains(reasons.reason_key, site_checks.check_key || ':')
    inner join site_check_rules
        on
            site_checks.cluster_id = site_check_rules.cluster_id
            and {{ site_rule_fits_check('site_check_rules', 'site_checks.check_key') }}
    left join first_rule on reasons.reason_key = first_rule.reason_key
    where
        first_rule.failure_category is distinct from 'by_xid'
        and not coalesce({{ is_no_fault('first_rule.failure_category') }}, false)
    qualify
        row_number() over (
            partition by reasons.cluster_id, reasons.reason_key
            order by
                length(site_checks.check_key) desc, site_checks.check_key asc, site_check_rules.rule_order asc
        ) = 1

),

site_rule as (

    select
        reasons.cluster_id,
        reasons.reason_key,
        site_rules.failure_category,
        site_rules.severity,
        site_rules.evidence_class
    from reasons
    inner join site_rules
        on
            reasons.cluster_id = site_rules.cluster_id
            and {{ site_pattern_matches('reasons.reason_key', 'site_rules.pattern') }}
    qualify
        row_number() over (
            partition by reasons.cluster_id, reasons.reason_key order by site_rules.rule_order
        ) = 1

),

-- The number after "Xid" and after the bracket with the PCI address, never a number inside the bracket.
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
        reasons.cluster_id,
        codes_listed.reason_key,
        cast(codes_listed.code_text as integer) as code,
        coalesce(site_xids.failure_category, xids.failure_category, 'unknown_xid') as failure_category,
        case when site_xids.code is null then nullif(xids.co_category, 'none') end as co_category,
        coalesce(site_xids.severity, xids.severity, 'low') as severity,
        coalesce(site_xids.evidence_class, xids.evidence_class, 'B') as evidence_class
    from codes_listed
    inner join reasons on codes_listed.reason_key = reasons.reason_key
    left join xids on cast(codes_listed.code_text as integer) = xids.code
    left join site_xids
        on
            reasons.cluster_id = site_xids.cluster_id
            and cast(codes_listed.code_text as integer) = site_xids.code

),

first_code as (

    select codes_known.*
    from codes_known
    left join categories on codes_known.failure_category = categories.failure_category
    qualify
        row_number() over (
            partition by codes_known.cluster_id, codes_known.reason_key
            order by
                {{ severity_rank('codes_known.severity') }},
                {{ evidence_rank('codes_known.evidence_class') }},
                categories.priority nulls last,
                codes_known.code
        ) = 1

)

select
    reasons.cluster_id,
    reasons.reason_key,
    case when site_rule.reason_key is null then first_code.code end as code,
    coalesce(
        site_rule.failure_category,
        first_code.failure_category,
        site_check.failure_category,
        quoted_check.failure_category,
        first_rule.failure_category,
        'unmapped'
    ) as failure_category,
    case when site_rule.reason_key is null then first_code.co_category end as co_category,
    coalesce(
        site_rule.severity,
        first_code.severity,
        site_check.severity,
        quoted_check.severity,
        first_rule.severity,
        'low'
    ) as severity,
    coalesce(
        site_rule.evidence_class,
        first_code.evidence_class,
        site_check.evidence_class,
        quoted_check.evidence_class,
        first_rule.evidence_class,
        'none'
    ) as evidence_class,
    -- Slurm and health checks write known texts. A person wrote any other text.
    coalesce(first_origin.origin, 'administrator') as origin
from reasons
left join first_rule on reasons.reason_key = first_rule.reason_key
left join first_origin on reasons.reason_key = first_origin.reason_key
left join quoted_check on reasons.reason_key = quoted_check.reason_key
left join first_code
    on
        reasons.cluster_id = first_code.cluster_id
        and reasons.reason_key = first_code.reason_key
left join site_check
    on
        reasons.cluster_id = site_check.cluster_id
        and reasons.reason_key = site_check.reason_key
left join site_rule
    on
        reasons.cluster_id = site_rule.cluster_id
        and reasons.reason_key = site_rule.reason_key
