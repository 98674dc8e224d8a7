with

rules as (

    select * from {{ ref('stg_config__rules') }}
    where kind = 'health_check'

),

reported as (

    select distinct
        cluster_id,
        check_key
    from {{ ref('stg_health__checks') }}
    -- Most clusters have no rules: read nothing of theirs.
    where cluster_id in (select rules.cluster_id from rules)

)

select
    reported.cluster_id,
    reported.check_key,
    rules.rule_order,
    rules.failure_category,
    rules.severity,
    rules.evidence_class,
    rules.is_sticky
from reported
inner join rules
    on
        reported.cluster_id = rules.cluster_id
        and {{ site_rule_fits_check('rules', 'reported.check_key') }}
qualify row_number() over (partition by reported.cluster_id, reported.check_key order by rules.rule_order) = 1
