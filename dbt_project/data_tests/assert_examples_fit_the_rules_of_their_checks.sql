-- The seed's patterns are constants in the classification of findings: each must match its example in that form.
{{ config(tags=['judged_with_the_code']) }}

with

rules as (

    select * from {{ ref('health_check_rules') }}

),

fitting as (

    select
        check_key,
        example,
        {{ unnest_list(orders_of_rules_that_fit('check_key', 'example')) }} as rule_order
    from rules

)

select
    rules.check_key,
    rules.rule_order,
    rules.example
from rules
left join fitting
    on
        rules.check_key = fitting.check_key
        and rules.example = fitting.example
        and rules.rule_order = fitting.rule_order
where fitting.rule_order is null
