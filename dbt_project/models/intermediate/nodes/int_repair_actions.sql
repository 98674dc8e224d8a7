with

tickets as (

    select * from {{ ref('stg_tickets__repairs') }}
    where action is not null

),

failure_records as (

    select * from {{ ref('stg_failures__records') }}
    where action is not null

),

reasons as (

    select * from {{ ref('int_node_reasons_classified') }}
    where origin = 'administrator' or failure_category = 'planned'

),

rules as (

    select * from {{ ref('repair_actions') }}

),

site_rules as (

    select * from {{ ref('stg_config__rules') }}
    where kind = 'repair_action'

),

texts as (

    select
        cluster_id,
        lower(trim(action)) as text_key
    from tickets
    union
    select
        cluster_id,
        lower(trim(action)) as text_key
    from failure_records
    union
    select
        cluster_id,
        reason_key as text_key
    from reasons

),

-- Clusters share many texts. Match each text with the built-in rules once.
distinct_texts as (

    select distinct text_key from texts

),

first_rule as (

    select
        distinct_texts.text_key,
        rules.repair_action
    from distinct_texts
    inner join rules on {{ regex_matches("replace(distinct_texts.text_key, '_', ' ')", 'rules.pattern') }}
    qualify row_number() over (partition by distinct_texts.text_key order by rules.rule_order) = 1

),

site_rule as (

    select
        texts.cluster_id,
        texts.text_key,
        site_rules.repair_action
    from texts
    inner join site_rules
        on
            texts.cluster_id = site_rules.cluster_id
            and {{ site_pattern_matches('texts.text_key', 'site_rules.pattern') }}
    qualify
        row_number() over (partition by texts.cluster_id, texts.text_key order by site_rules.rule_order) = 1

)

select
    texts.cluster_id,
    texts.text_key,
    coalesce(site_rule.repair_action, first_rule.repair_action) as repair_action
from texts
left join first_rule on texts.text_key = first_rule.text_key
left join site_rule
    on
        texts.cluster_id = site_rule.cluster_id
        and texts.text_key = site_rule.text_key
