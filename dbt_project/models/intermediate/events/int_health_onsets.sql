with

changes as (

    select * from {{ ref('int_health_checks_changed') }}

),

symptoms as (

    select * from {{ ref('int_health_symptoms') }}

),

categories as (

    select * from {{ ref('failure_categories') }}

),

-- Change numbers that follow one another carry the same symptom on: they share the difference to its own count. What
-- only warned and then fails, or supports and then is evidence, is a symptom that begins anew.
islands as (

    select
        *,
        change_number - row_number() over (
            partition by cluster_id, node_id, check_stream, subject, episode_number, symptom, evidence_class
            order by change_number
        ) as island_number
    from symptoms

),

onsets as (

    select
        *,
        max(change_number) over (
            partition by
                cluster_id, node_id, check_stream, subject, episode_number, symptom, evidence_class, island_number
        ) as last_change_number
    from islands
    qualify
        row_number() over (
            partition by
                cluster_id, node_id, check_stream, subject, episode_number, symptom, evidence_class, island_number
            order by change_number
        ) = 1

),

-- Codes that appear in one result: the most telling one stands for those that are no evidence themselves.
ranked as (

    select
        onsets.*,
        row_number() over (
            partition by
                onsets.cluster_id,
                onsets.node_id,
                onsets.check_stream,
                onsets.subject,
                onsets.change_number,
                onsets.code is null
            order by
                {{ evidence_rank('onsets.evidence_class') }},
                {{ severity_rank('onsets.severity') }},
                categories.priority,
                onsets.code
        ) as code_rank
    from onsets
    left join categories on onsets.failure_category = categories.failure_category

),

companions as (

    select
        cluster_id,
        node_id,
        check_stream,
        subject,
        change_number,
        {{ sorted_list('code') }} as codes
    from ranked
    where
        code is not null
        and code_rank > 1
        and evidence_class != 'A'
    group by cluster_id, node_id, check_stream, subject, change_number

)

select
    ranked.cluster_id,
    ranked.node_id,
    changes.check_key,
    changes.check_name,
    changes.check_type,
    case
        when ranked.check_stream != 'nhc' and ranked.subject not in ('', {{ subject_of_events() }}) then ranked.subject
    end as subject,
    ranked.symptom,
    ranked.code,
    case
        when ranked.code is null then {{ empty_integer_list() }}
        when ranked.code_rank > 1 then {{ list_literal(['ranked.code']) }}
        else {{ list_literal(['ranked.code']) }} || coalesce(companions.codes, {{ empty_integer_list() }})
    end as codes,
    ranked.failure_category,
    ranked.co_category,
    ranked.severity,
    ranked.evidence_class,
    changes.result,
    changes.observed_at,
    changes.previous_observed_at as last_ok_at,
    healing_changes.observed_at as cleared_at,
    changes.job_id_raw,
    changes.message,
    changes.source_path,
    changes.source_line_number
from ranked
inner join changes
    on
        ranked.cluster_id = changes.cluster_id
        and ranked.node_id = changes.node_id
        and ranked.check_stream = changes.check_stream
        and ranked.subject = changes.subject
        and ranked.change_number = changes.change_number
left join changes as healing_changes
    on
        ranked.cluster_id = healing_changes.cluster_id
        and ranked.node_id = healing_changes.node_id
        and ranked.check_stream = healing_changes.check_stream
        and ranked.subject = healing_changes.subject
        and ranked.last_change_number + 1 = healing_changes.change_number
        and not healing_changes.is_new_episode
left join companions
    on
        ranked.code_rank = 1
        and ranked.code is not null
        and ranked.cluster_id = companions.cluster_id
        and ranked.node_id = companions.node_id
        and ranked.check_stream = companions.check_stream
        and ranked.subject = companions.subject
        and ranked.change_number = companions.change_number
where
    ranked.code is null
    or ranked.code_rank = 1
    or ranked.evidence_class = 'A'
-- What is said of one symptom at one moment is one event: an event log tells of lost power and lost redundancy in one
-- second.
qualify
    row_number() over (
        partition by
            ranked.cluster_id, ranked.node_id, ranked.check_stream, ranked.subject, ranked.symptom,
            changes.observed_at
        order by
            {{ evidence_rank('ranked.evidence_class') }},
            {{ severity_rank('ranked.severity') }},
            ranked.change_number
    ) = 1
