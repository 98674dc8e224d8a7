"""Which check to trust, computed by hand: how each onset is judged, and what a check is worth."""

from math import exp

import pytest

from assets.estimates.est_check_scores import est_check_scores
from tests.estimates.five_clusters import read
from tests.warehouses import filled

# Onsets are hours apart, each on its own node. `jobs` says what ran there: one that failed 240 seconds later, one
# that ran for eight more days, one that COMPLETED in time, one that ran for two more hours, or none.
MARTS = """
insert into marts.dim_clusters by name
select 'c' as cluster_id, timestamp '2026-01-01' as study_from_at, timestamp '2026-01-31' as study_to_at;
insert into staging.stg_config__clusters (cluster_id) values ('c');
insert into ops.sight by name
select 'c' as cluster_id, 'n' || node as node_id, 'health' as kind, date '2026-01-01' + cast(day as integer) as day_date
from range(10) as nodes (node), range(30) as days (day);

create temp table onsets as
select
    check_name, severity, jobs, number, 'n-' || check_name || number as node_id, check_name || number as event_id,
    timestamp '2026-01-02' + to_hours(5 * number) as observed_at, 1.0 as probability
from (values
    ('noise', 'high', 'went on', 20), ('good', 'high', 'failed', 10), ('idle', 'high', 'none', 20),
    ('done', 'high', 'completed', 1), ('early', 'high', 'completed early', 1), ('next', 'high', 'went on', 3),
    ('hours', 'high', 'for hours', 20), ('late', 'high', 'went on', 1),
    ('mended', 'high', 'went on', 3),
    ('low', 'low', 'went on', 3), ('ignored', 'low', 'none', 2), ('xid errors', 'high', 'none', 2),
    ('ahead', 'high', 'failed later', 2), ('storm', 'high', 'went on', 20),
    ('unsure', 'high', 'failed', 1), ('silent', 'info', 'went on', 1), ('unmapped', 'high', 'none', 3)
) as checks (check_name, severity, jobs, onset_count), range(20) as numbers (number)
where number < onset_count;
update onsets set observed_at = timestamp '2026-01-20' + to_seconds(number) where check_name = 'storm';
update onsets set observed_at = timestamp '2026-01-26' where check_name = 'late';
insert into marts.agg_check_introductions by name
select distinct 'c' as cluster_id, check_name, timestamp '2026-01-01' as first_reported_at from onsets
union all
select 'c', 'never', timestamp '2026-01-16';
insert into marts.fct_health_events by name
select
    'c' as cluster_id, event_id, node_id, observed_at, 'health_check' as source, upper(check_name) as check_name,
    severity, if(check_name = 'unmapped', 'unmapped', 'gpu_memory') as failure_category,
    if(check_name = 'low', observed_at + interval 2 hour, null) as cleared_at,
    if(check_name = 'xid errors', 'kernel' || number, null) as duplicate_of_event_id,
    check_name = 'xid errors' as is_repeat
from onsets
union all by name
select
    'c' as cluster_id, 'kernel' || number as event_id, node_id, observed_at - interval 1 minute as observed_at,
    'kernel' as source, 'xid' as check_name, 'high' as severity, 'gpu_driver' as failure_category, false as is_repeat
from onsets
where check_name = 'xid errors' and number = 0 or check_name = 'noise' and number = 19
union all by name
select
    'c' as cluster_id, 'boot' as event_id, node_id, observed_at + interval 1 minute as observed_at,
    'kernel' as source, 'boot' as check_name, 'info' as severity, 'system' as failure_category, false as is_repeat
from onsets
where event_id = 'next2'
union all by name
select
    'c' as cluster_id, 'unclear' as event_id, node_id, observed_at, 'kernel' as source, 'new' as check_name,
    'high' as severity, 'unmapped' as failure_category, false as is_repeat
from onsets
where event_id = 'unmapped2';

insert into marts.fct_attempts by name
select
    'c' as cluster_id, event_id as attempt_id,
    case when jobs like 'failed%' then 'FAILED' when jobs = 'went on' then 'CANCELLED' else 'COMPLETED' end as state,
    observed_at - interval 1 hour as started_at,
    observed_at + case jobs
        when 'failed' then interval 240 second when 'failed later' then interval 20 minute
        when 'went on' then interval 8 day when 'for hours' then interval 2 hour
        when 'completed' then interval 10 minute
        when 'completed early' then interval 9 minute
    end as ended_at
from onsets
where jobs <> 'none';
insert into marts.fct_attempt_nodes by name select 'c' as cluster_id, event_id as attempt_id, node_id from onsets;
insert into marts.fct_node_days by name
select
    'c' as cluster_id, node_id, cast(observed_at as date) + cast(day as integer) as day_date,
    if(jobs = 'went on', 24, if(day = 0 and jobs <> 'none', 3, 0)) as in_use_hours
from onsets, range(8) as days (day);

-- One failure of `good` has a kernel message, too, of one Slurm names the node, and two are one incident.
insert into marts.fct_failures by name
select
    'c' as cluster_id, event_id as attempt_id, observed_at + interval 240 second as failed_at,
    if(number = 1, 'NODE_FAIL', 'FAILED') as state, number = 1 as is_culprit_named,
    if(number = 3, 'good2', event_id) as incident_id, if(check_name = 'unsure', 0.3, 1.0) as posterior_probability
from onsets
where jobs = 'failed';
insert into marts.fct_failures by name
select
    'c' as cluster_id, event_id as attempt_id, observed_at + interval 20 minute as failed_at, 'FAILED' as state,
    false as is_culprit_named, node_id as culprit_node_id, if(number = 0, 'gpu_driver', 'ib_link') as failure_category
from onsets
where jobs = 'failed later';
insert into marts.fct_failure_evidence by name
select 'c' as cluster_id, event_id as attempt_id, event_id, node_id from onsets where jobs = 'failed'
union all
select 'c', 'good0', 'kernel0', 'n-good0';
update marts.fct_failure_evidence set probability = 0.1 where event_id = 'unsure0';

insert into marts.fct_tickets by name
select 'c' as cluster_id, node_id, observed_at + interval 5 hour as opened_at, 'gpu_unavailable' as failure_category
from onsets where event_id = 'mended0'
union all
select 'c', node_id, observed_at + interval 5 hour, 'ib_link' from onsets where event_id = 'mended1'
union all
select 'c', node_id, observed_at + interval 5 hour, 'unmapped' from onsets where event_id = 'unmapped0';
insert into marts.fct_node_outages by name
select
    'c' as cluster_id, event_id as outage_id, node_id, false as is_planned,
    if(event_id = 'unmapped1', 'unmapped', 'gpu_memory') as failure_category,
    if(event_id in ('mended2', 'unmapped1'), 'administrator', 'health_check') as origin, 'HC: ' || check_name as reason,
    observed_at + interval 2 minute as requested_at,
    observed_at + if(event_id in ('noise0', 'hours0'), interval 2 hour, interval 5 minute) as started_at,
    observed_at + interval 6 hour as ended_at
from onsets
where event_id in ('mended2', 'unmapped1', 'noise0', 'next1', 'low1', 'ignored1', 'idle0', 'hours0');
"""


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    house = filled(tmp_path_factory.mktemp("checks"), MARTS)
    est_check_scores(warehouse=house)
    return {row["check_name"]: row for row in read(house, "est_check_scores")}


def nearly(share):
    """Allow for the part that is expected by chance."""
    return pytest.approx(share, abs=0.08)


@pytest.mark.parametrize(
    ("check", "onsets", "judged", "survived", "true_share"),
    [
        ("noise", 20, 19, 20, 0.0),  # in use for a week, even with a kernel message; after an outage: unknown
        ("good", 10, 10, 0, 1.0),
        ("idle", 20, 0, 0, None),  # no job, no repair: unknown
        ("hours", 20, 0, 20, None),  # a job went on for two hours, and then none ran
        ("done", 1, 0, 1, None),  # COMPLETED ten minutes later
        ("early", 1, 0, 0, None),  # COMPLETED within the window of attribution
        ("late", 1, 0, 1, None),  # the data end five days later
        ("next", 3, 1, 3, 0.0),  # a week in use, but an outage or a boot before proves nothing
        ("mended", 3, 3, 3, nearly(2 / 3)),  # a ticket of the component, an administrator, neither
        ("low", 3, 2, 3, 0.0),  # a week in use; after an outage: unknown
        ("ignored", 2, 0, 0, None),  # cleared or not, nothing ran
        ("xid errors", 2, 1, 0, nearly(1)),  # the kernel's own message
        ("unsure", 1, 1, 0, pytest.approx(0.1)),
        ("ahead", 2, 1, 0, nearly(1)),  # twenty minutes before a failure of the component, and of another
        ("unmapped", 3, 0, 0, None),  # a ticket, an outage, a kernel message without a rule: unknown
        ("silent", 0, 0, 0, None),  # severity info asks for nothing
        ("never", 0, 0, 0, None),
    ],
)
def test_each_onset_is_judged_by_what_became_of_it(checks, check, onsets, judged, survived, true_share):
    row = checks[check]
    found = (row["event_count"], row["judged_count"], row["survived_count"], row["true_share"])
    assert found == (onsets, judged, survived, true_share)


def test_verdicts_follow_limits_and_losses(checks):
    verdicts = {name: row["verdict"] for name, row in checks.items()}
    assert (verdicts["noise"], verdicts["good"]) == ("drop", "keep")
    assert {verdicts[name] for name in ("idle", "hours", "done", "early", "next", "mended", "never")} == {"cannot tell"}


def test_unknown_onsets_widen_the_limits_and_are_never_false(checks):
    idle, following = checks["idle"], checks["next"]
    assert (idle["false_per_node_month"], idle["low"], idle["method"]) == (None, None, "cannot_be_judged")
    assert following["false_per_node_month"] == pytest.approx(1 / 10)
    assert following["high"] > 0.9
    assert following["note"] == "2 of 3 onsets are unknown: followed for less than 7 days in use, without a failure"


def test_a_storm_counts_as_little_more_than_one_onset(checks):
    storm = checks["storm"]
    assert storm["true_share"] == 0
    assert storm["verdict"] == "cannot tell"
    assert storm["note"] == "onsets came in bursts: they count as 1 single ones"
    assert storm["false_per_node_month_low"] < checks["noise"]["false_per_node_month_low"]


def test_lead_drains_and_what_is_lost(checks):
    good, noise = checks["good"], checks["noise"]
    assert (good["lead_seconds"], good["lead_seconds_p10"], good["lead_seconds_p90"]) == (240, 240, 240)
    # Nothing else showed nine; Slurm names the node of one of them.
    assert (good["alone_count"], good["lost_count"]) == (9, 8)
    # From the start of the outage, hours after its request, if a job survived the onset; for others it is unknown.
    assert (noise["drained_node_hours"], checks["idle"]["drained_node_hours"]) == (4, 0)
    assert checks["ahead"]["lead_seconds"] == 1200
    assert (noise["lead_seconds"], noise["exposure"], checks["never"]["exposure"]) == (None, 300, 150)


# Ten nodes for 20 days. On n0 a failure follows after 12 hours; n1 runs a job for a week and nothing happens; n2 boots
# after 84 hours. Nodes were followed for 0.5 + 7 + 3.5 days. The other 189 node-days have a failure and a ticket.
BY_HAND = """
insert into marts.dim_clusters by name
select 'c' as cluster_id, timestamp '2026-01-01' as study_from_at, timestamp '2026-01-21' as study_to_at;
insert into staging.stg_config__clusters (cluster_id) values ('c');
insert into ops.sight by name
select 'c' as cluster_id, 'n' || node as node_id, 'health' as kind, date '2026-01-01' + cast(day as integer) as day_date
from range(10) as nodes (node), range(20) as days (day);
insert into marts.agg_check_introductions by name
select 'c' as cluster_id, 'ecc' as check_name, timestamp '2026-01-01' as first_reported_at;
insert into marts.fct_health_events by name
select
    'c' as cluster_id, 'e' || number as event_id, 'n' || number as node_id,
    timestamp '2026-01-02' + to_hours(2 * number) as observed_at, 'health_check' as source, 'ecc' as check_name,
    'low' as severity, 'gpu_memory' as failure_category, false as is_repeat
from range(3) as numbers (number)
union all by name
select
    'c' as cluster_id, 'boot' as event_id, 'n2' as node_id, timestamp '2026-01-05 16:00' as observed_at,
    'kernel' as source, 'boot' as check_name, 'info' as severity, 'system' as failure_category, false as is_repeat;
insert into marts.fct_attempts by name
select
    'c' as cluster_id, 'week' as attempt_id, 'COMPLETED' as state, timestamp '2026-01-01' as started_at,
    timestamp '2026-01-15' as ended_at;
insert into marts.fct_attempt_nodes by name select 'c' as cluster_id, 'week' as attempt_id, 'n1' as node_id;
insert into marts.fct_node_days by name
select 'c' as cluster_id, 'n1' as node_id, date '2026-01-01' + cast(day as integer) as day_date, 12 as in_use_hours
from range(14) as days (day);
insert into marts.fct_failures by name
select 'c' as cluster_id, node_id as attempt_id, failed_at, node_id as culprit_node_id, 'gpu_memory' as failure_category
from (values ('n0', timestamp '2026-01-02 12:00'), ('n5', timestamp '2026-01-10')) as failures (node_id, failed_at);
insert into marts.fct_tickets by name
select
    'c' as cluster_id, node_id, opened_at, 'gpu_memory' as failure_category
from (values ('n0', timestamp '2026-01-02 15:00'), ('n6', timestamp '2026-01-12')) as tickets (node_id, opened_at);
"""


def test_chance_is_taken_off_at_the_rate_of_other_times(tmp_path):
    house = filled(tmp_path, BY_HAND)
    est_check_scores(warehouse=house)
    (row,) = read(house, "est_check_scores")
    by_chance = sum(1 - exp(-2 / 189 * days) for days in (0.5, 7, 3.5))
    assert (row["event_count"], row["judged_count"]) == (3, 2)
    assert row["true_share"] == pytest.approx((1 - by_chance) / 2)
