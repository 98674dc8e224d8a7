with

changes as (

    select * from {{ ref('int_health_checks_changed') }}

),

findings as (

    select * from {{ ref('int_health_findings') }}

),

streams as (

    select * from {{ ref('int_health_streams') }}

),

categories as (

    select * from {{ ref('failure_categories') }}

),

ranked as (

    select
        findings.finding_key,
        findings.symptom_key,
        findings.code,
        {{ evidence_rank('findings.evidence_class') }} as evidence_rank,
        {{ severity_rank('findings.severity') }} as severity_rank,
        categories.priority
    from findings
    left join categories on findings.failure_category = categories.failure_category

),

-- Consecutive change numbers continue a symptom: they share the difference to its own count. A change from warning to
-- failure, or from support to evidence, is a new onset.
islands as (

    select
        changes.stream_key,
        changes.change_number,
        changes.episode_number,
        ranked.symptom_key,
        ranked.evidence_rank,
        changes.change_number - row_number() over (
            partition by changes.stream_key, changes.episode_number, ranked.symptom_key, ranked.evidence_rank
            order by changes.change_number
        ) as island_number
    from changes
    inner join ranked on changes.finding_key = ranked.finding_key

),

first_and_last as (

    select
        stream_key,
        symptom_key,
        min(change_number) as change_number,
        max(change_number) as last_change_number
    from islands
    group by stream_key, episode_number, symptom_key, evidence_rank, island_number

),

onsets as (

    select
        first_and_last.*,
        changes.finding_key,
        changes.message_key,
        changes.observed_at,
        changes.previous_observed_at,
        changes.job_id_raw,
        changes.file_key,
        changes.source_line_number,
        ranked.code,
        ranked.evidence_rank,
        ranked.severity_rank,
        ranked.priority
    from first_and_last
    inner join changes
        on
            first_and_last.stream_key = changes.stream_key
            and first_and_last.change_number = changes.change_number
    inner join ranked
        on
            changes.finding_key = ranked.finding_key
            and first_and_last.symptom_key = ranked.symptom_key

),

-- Codes in one result: the one that ranks first represents those that are not evidence themselves.
coded as (

    select
        *,
        row_number() over (
            partition by stream_key, change_number order by evidence_rank, severity_rank, priority, code
        ) as code_rank
    from onsets
    where code is not null

),

companions as (

    select
        stream_key,
        change_number,
        {{ sorted_list('code') }} as codes
    from coded
    where
        code_rank > 1
        and evidence_rank > 1
    group by stream_key, change_number

),

telling as (

    select
        *,
        cast(null as bigint) as code_rank
    from onsets
    where code is null
    union all
    select * from coded
    where
        code_rank = 1
        or evidence_rank = 1

),

-- Reports of one symptom at one time are one event: an event log may report lost power and lost redundancy in one
-- second.
told_once as (

    select * from telling
    qualify
        row_number() over (
            partition by stream_key, symptom_key, observed_at
            order by evidence_rank, severity_rank, change_number
        ) = 1

)

select
    streams.cluster_id,
    streams.node_id,
    findings.check_key,
    findings.check_name,
    findings.check_type,
    case
        when streams.check_stream != 'nhc' and streams.subject not in ('', {{ subject_of_events() }})
            then streams.subject
    end as subject,
    findings.symptom,
    findings.code,
    case
        when findings.code is null then {{ empty_integer_list() }}
        when told_once.code_rank > 1 then {{ list_literal(['findings.code']) }}
        else {{ list_literal(['findings.code']) }} || coalesce(companions.codes, {{ empty_integer_list() }})
    end as codes,
    findings.failure_category,
    findings.co_category,
    findings.severity,
    findings.evidence_class,
    findings.result,
    told_once.observed_at,
    told_once.previous_observed_at as last_ok_at,
    healing_changes.observed_at as cleared_at,
    told_once.job_id_raw,
    told_once.message_key,
    told_once.file_key,
    told_once.source_line_number
from told_once
inner join streams on told_once.stream_key = streams.stream_key
inner join findings
    on
        told_once.finding_key = findings.finding_key
        and told_once.symptom_key = findings.symptom_key
left join changes as healing_changes
    on
        told_once.stream_key = healing_changes.stream_key
        and told_once.last_change_number + 1 = healing_changes.change_number
        and not healing_changes.is_new_episode
left join companions
    on
        told_once.stream_key = companions.stream_key
        and told_once.change_number = companions.change_number
