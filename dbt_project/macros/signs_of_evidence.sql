{#-
    CTE of the signs in an attempt's evidence: as category, as any category, and as symptom. category_shown is the
    category that a sign restates: no other sign for a failure of that category. sign may be NULL.

    evidence: CTE of (cluster_id, attempt_id, event_id, failure_category). events: CTE of the health events.
-#}
{% macro signs_of_evidence(evidence, events) -%}
    with

    shown as (

        select
            evidence.cluster_id,
            evidence.attempt_id,
            evidence.failure_category,
            events.source,
            events.check_name,
            events.message,
            {{ unnest_list(
                'case when ' ~ list_length('events.codes') ~ ' > 0 then events.codes else '
                ~ list_literal(['cast(null as integer)']) ~ ' end'
            ) }} as code
        from {{ evidence }} as evidence
        inner join {{ events }} as events
            on
                evidence.cluster_id = events.cluster_id
                and evidence.event_id = events.event_id

    ),

    -- The driver's message without a number means the same as Xid 79.
    symptoms as (

        select distinct
            cluster_id,
            attempt_id,
            case
                when source = 'kernel' and check_name = 'fell_off_bus' then 'xid 79'
                when check_name = 'sxid' then 'sxid ' || code
                when code is not null then 'xid ' || code
                when lower(check_name) = 'ipmitool sel' and lower(message) like '%critical interrupt%'
                    then 'ipmi critical interrupt'
            end as symptom
        from shown

    )

    select
        cluster_id,
        attempt_id,
        failure_category as category_shown,
        {{ unnest_list(list_literal([
            'failure_category',
            "'any other category'",
            "case when failure_category in ('gpu_memory', 'gpu_nvlink', 'gpu_unavailable', 'gpu_driver_firmware')"
            ~ " then 'any gpu category' end"
        ])) }} as sign
    from shown

    union all

    select
        cluster_id,
        attempt_id,
        cast(null as string) as category_shown,
        symptom as sign
    from symptoms

    union all

    select
        cluster_id,
        attempt_id,
        cast(null as string) as category_shown,
        'xid 79 with ipmi critical interrupt' as sign
    from symptoms
    where symptom in ('xid 79', 'ipmi critical interrupt')
    group by cluster_id, attempt_id
    having count(*) = 2
{%- endmacro %}
