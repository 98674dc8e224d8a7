with clusters as (
    select
        clusters.cluster_id,
        clusters.study_to_at,
        to_seconds(configured.attribution_before_seconds) as window_before
    from {{ ref('dim_clusters') }} as clusters
    inner join {{ ref('stg_config__clusters') }} as configured using (cluster_id)
),

-- A job refutes what its node showed up to a moment.
surviving_jobs as (
    select
        hash(attempt_nodes.cluster_id, attempt_nodes.node_id) as node_key,
        attempts.started_at,
        date_trunc('day', attempts.started_at) as day_at,
        coalesce(attempts.ended_at, clusters.study_to_at)
        - if(attempts.state = 'COMPLETED', clusters.window_before, interval 1 hour) as survived_until_at
    from {{ ref('fct_attempts') }} as attempts
    inner join clusters using (cluster_id)
    inner join {{ ref('fct_attempt_nodes') }} as attempt_nodes
        on attempts.cluster_id = attempt_nodes.cluster_id and attempts.attempt_id = attempt_nodes.attempt_id
    where attempts.started_at <= survived_until_at
),

-- Each with the last moment at which a job may start that counts.
severe_onsets as (
    select
        onset,
        hash(cluster_id, node_id) as node_key,
        observed_at,
        least(observed_at + interval 1 day, interrupted_at) as until_at,
        date_trunc('day', until_at) as day_at
    from {{ ref('inp_check_onsets_numbered') }}
    where severity = 'high'
),

-- Most are refuted by a job of an earlier day: there are fewer days than jobs to put in order.
days_and_onsets as (
    select
        node_key,
        day_at,
        max(survived_until_at) as survived_until_at,
        null as onset,
        null as observed_at
    from surviving_jobs
    group by node_key, day_at
    union all
    select
        node_key,
        day_at,
        null as survived_until_at,
        onset,
        observed_at
    from severe_onsets
),

refuted_by_earlier_days as (
    select onset
    from (
        select
            onset,
            observed_at,
            max(survived_until_at) over (
                partition by node_key order by day_at range between unbounded preceding and interval 1 day preceding
            ) as survived_until_at
        from days_and_onsets
    ) as survived
    where onset is not null and survived_until_at >= observed_at
),

other_onsets as (
    select * from severe_onsets
    anti join refuted_by_earlier_days using (onset)
),

jobs_and_onsets_of_days as (
    select
        node_key,
        day_at,
        started_at as until_at,
        survived_until_at,
        null as onset,
        null as observed_at
    from surviving_jobs
    semi join other_onsets using (node_key, day_at)
    union all
    select
        node_key,
        day_at,
        until_at,
        null as survived_until_at,
        onset,
        observed_at
    from other_onsets
),

refuted_on_the_day as (
    select onset
    from (
        select
            onset,
            observed_at,
            max(survived_until_at) over (
                partition by node_key, day_at order by until_at range between unbounded preceding and current row
            ) as survived_until_at
        from jobs_and_onsets_of_days
    ) as survived
    where onset is not null and survived_until_at >= observed_at
)

select onset from refuted_by_earlier_days
union all
select onset from refuted_on_the_day
