{#-
    Counts for each onset the nodes with an onset of the same symptom within its reach back, itself included.

    onsets: CTE of (cluster_id, symptom, onset_id, node_id, observed_at, reach, reaches_back_to).
-#}
{% macro nodes_within_reach(onsets) -%}
    {{ adapter.dispatch('nodes_within_reach', 'faultline')(onsets) }}
{%- endmacro %}

{% macro default__nodes_within_reach(onsets) -%}
    select
        *,
        count(distinct node_id) over (
            partition by cluster_id, symptom
            order by observed_at
            range between reach preceding and current row
        ) as node_count
    from {{ onsets }}
{%- endmacro %}

{#- Spark's frames take only constants. No onset reaches back further than a slot of ten minutes. -#}
{% macro spark__nodes_within_reach(onsets) -%}
    select
        later.cluster_id,
        later.symptom,
        later.onset_id,
        later.node_id,
        later.observed_at,
        later.reaches_back_to,
        count(distinct earlier.node_id) as node_count
    from {{ onsets }} as later
    inner join (
        select
            cluster_id,
            symptom,
            node_id,
            observed_at,
            {{ unnest_integer_range(time_slot('observed_at', 600), time_slot('observed_at', 600) ~ ' + 1') }} as slot
        from {{ onsets }}
    ) as earlier
        on
            later.cluster_id = earlier.cluster_id
            and later.symptom = earlier.symptom
            and {{ time_slot('later.observed_at', 600) }} = earlier.slot
            and later.observed_at >= earlier.observed_at
            and later.reaches_back_to <= earlier.observed_at
    group by
        later.cluster_id,
        later.symptom,
        later.onset_id,
        later.node_id,
        later.observed_at,
        later.reaches_back_to
{%- endmacro %}
