"""How far the evidence of clusters reaches, computed by hand: what counts as late, as seen by both, as a reason."""

import pytest

from assets.estimates.est_evidence_reach import est_evidence_reach
from tests.estimates.five_clusters import read
from tests.warehouses import filled

# Clusters: `late` has checks alone, `both` two sources, `quiet` no end, `few` two sources with little in common.
# Attempts run an hour on one node each, every hour of January; the failed ones of `both` count in February.
MARTS = """
insert into marts.dim_clusters by name
from (values ('late', false, true), ('both', true, true), ('quiet', false, false), ('few', true, true))
    as clusters (cluster_id, has_kernel_messages, has_health_checks);
update marts.dim_clusters set study_from_at = '2026-01-01', study_to_at = '2026-03-01';
insert into staging.stg_config__clusters (cluster_id, attribution_after_seconds)
select cluster_id, 300 from marts.dim_clusters;
insert into marts.dim_failure_categories by name
from (values ('pcie', true, true), ('driver', true, true)) as kinds (failure_category, is_cause, is_infrastructure);
insert into seeds.kernel_rules (failure_category, co_category, evidence_class, is_event)
values ('pcie', 'none', 'A', true), ('driver', 'none', 'A', true);
insert into marts.agg_check_introductions (cluster_id, check_name, failure_category, source)
select cluster_id, 'check pci', 'pcie', 'health_check' from marts.dim_clusters;

create temp table ends as
select
    'late' as cluster_id, 'l' || i as attempt_id, 'n' || i as node_id, if(i < 40, 'FAILED', 'COMPLETED') as state,
    timestamp '2026-01-02' + to_hours(i) as ended_at, null as end_reason
from range(400) as numbers (i)
union all
select 'both', 'b' || i, 'n' || i, 'FAILED', timestamp '2026-02-02' + to_hours(i), null from range(34) as numbers (i)
union all
select 'few', 'f' || i, 'n' || i, 'REQUEUED', timestamp '2026-02-02' + to_hours(i), null from range(3) as numbers (i)
union all
select 'late', 'planned', 'n0', 'REQUEUED', timestamp '2026-01-02', 'planned'
union all
select 'late', 'outside', 'n0', 'FAILED', timestamp '2026-03-02', null;
insert into marts.fct_attempts by name
select
    * exclude (node_id), true as is_terminal, 1 as node_count, 3600 as runtime_seconds, 'u' as user_name,
    ended_at - interval 1 hour as started_at
from ends;
insert into marts.fct_attempt_nodes by name select cluster_id, attempt_id, node_id from ends;

-- `late` has 12 ends that an onset follows within the half-hour after the window, one that it follows later, and one
-- of a completed attempt. Of the 12 one lies in a planned outage, one is a repeat, and one follows an incident.
create temp table onsets as
select
    cluster_id, attempt_id, node_id, 'health_check' as source, attempt_id <> 'l1' as is_evidence,
    ended_at + to_seconds(case attempt_id when 'l12' then 2101 when 'l2' then 301 when 'l3' then 2100 else 900 end)
        as observed_at
from ends
where attempt_id in ('l0', 'l1', 'l2', 'l3', 'l4', 'l5', 'l6', 'l7', 'l8', 'l9', 'l10', 'l11', 'l12', 'l13', 'l399')
    or (cluster_id = 'both' and attempt_id in (select 'b' || i from range(24) as numbers (i)))
    or cluster_id = 'few'
union all
select cluster_id, attempt_id, node_id, 'kernel', true, ended_at
from ends
where cluster_id = 'both' and attempt_id not in (select 'b' || i from range(4) as numbers (i));
update onsets set observed_at = observed_at - interval 900 second where cluster_id in ('both', 'few');
insert into marts.fct_health_events by name
select * exclude (attempt_id), attempt_id || source as event_id, source as check_name, 'pcie' as failure_category
from onsets;
insert into marts.fct_node_outages by name
select
    'late' as cluster_id, 'n0' as node_id, timestamp '2026-01-01' as started_at, timestamp '2026-01-03' as ended_at,
    true as is_planned;

-- Only kernel messages show the cause of b30 to b33; l13 was counted, l10 failed twenty minutes later, too.
insert into marts.fct_failures by name
select
    cluster_id, attempt_id, state, ended_at as failed_at, 1.0 as posterior_probability,
    if(attempt_id in ('b30', 'b31', 'b32', 'b33'), 'driver', 'pcie') as failure_category
from ends where cluster_id in ('both', 'few') or attempt_id = 'l13'
union all
select 'late', 'later', 'NODE_FAIL', timestamp '2026-01-02 10:10', 1.0, 'pcie'
union all
select 'late', 'l4', 'FAILED', timestamp '2026-01-02 04:00', 0.25, 'pcie';
insert into marts.fct_attempt_nodes values ('late', 'later', 'n10');
insert into marts.fct_failure_evidence by name
select cluster_id, attempt_id, attempt_id || source as event_id, node_id, 'pcie' as failure_category from onsets
where cluster_id in ('both', 'few');
insert into marts.fct_node_days by name
select distinct cluster_id, node_id, cast(ended_at as date) as day_date from ends;
insert into ops.sight by name
select cluster_id, node_id, day_date, unnest(['kernel', 'health']) as kind from marts.fct_node_days;
"""


def estimated(folder, *changes):
    """Return the rows of all clusters, by cluster and month."""
    house = filled(folder, MARTS, *changes)
    est_evidence_reach(warehouse=house)
    rows = read(house, "est_evidence_reach")
    return {(row["cluster_id"], str(row["month_date"])[:7]): row for row in rows}


@pytest.fixture(scope="module")
def reaches(tmp_path_factory):
    return estimated(tmp_path_factory.mktemp("reach"))


UNTOLD = {"reach": None, "high": None, "method": "cannot_be_told", "statement": None, "is_doubtful": False}
NEITHER = 4 * 6 / 21
"""In `both`, checks alone saw 4, both 20, kernel messages alone 6."""


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        # l0 is planned, l1 a repeat, l10 follows an incident, l12 is too late, l13 was counted. One of 360 windows of
        # completed attempts saw an onset; 39 ends had no likely evidence.
        ("late", {"late_seen_count": 9, "late_count": 9 - 39 / 360, "counted_count": 1.25, "exposure": 40.25,
                  "is_at_most": True, "method": "late_evidence", "reach": 1.25 / (1.25 + 9 - 39 / 360),
                  "is_doubtful": True, "note": "how much leaves no trace is unknown: no kernel log"}),
        ("both", {"counted_count": 34, "compared_count": 30, "both_count": 20, "unseen_count": NEITHER,
                  "reach": 30 / (30 + NEITHER), "one_source_categories": ["driver"], "method": "two_sources",
                  "is_at_most": False, "is_doubtful": False}),
        ("quiet", UNTOLD | {"note": "unknown: no attempt ended FAILED or REQUEUED"}),
        ("few", UNTOLD | {"note": "unknown: kernel messages and checks both saw 0 of 3 failures, too few to "
                                  "estimate what neither saw"}),
    ],
)  # fmt: skip
def test_the_reach_is_as_worked_out_by_hand(reaches, cluster, expected):
    row = reaches[cluster, "None"]
    for name, value in expected.items():
        assert row[name] == (pytest.approx(value) if isinstance(value, float) else value), name


def test_months_are_judged_by_themselves(reaches):
    assert {month for cluster, month in reaches if cluster == "late"} == {"None", "2026-01"}
    assert reaches["both", "2026-02"]["reach"] == reaches["both", "None"]["reach"]


def test_ends_without_evidence_that_grow_with_nodes_are_said_and_lower_the_limit(tmp_path):
    """In addition to 34 failures that two sources saw, five users have 8 of 10 ends each on 16 nodes, none on one."""
    grown = """
        insert into marts.fct_attempts by name
        select
            'both' as cluster_id, format('u{}-{}-{}', u, nodes, i) as attempt_id, true as is_terminal,
            if(nodes = 16 and i < 8, 'FAILED', 'COMPLETED') as state, nodes as node_count, 1800 as runtime_seconds,
            format('user{}', u) as user_name, timestamp '2026-02-10' + to_hours(i) as ended_at,
            timestamp '2026-02-10' + to_hours(i) - interval 30 minute as started_at
        from range(5) as users (u), range(10) as attempts (i), (values (1), (16)) as sizes (nodes)
    """
    row = estimated(tmp_path, grown)["both", "None"]
    high = row["unexplained_count_high"]
    assert 40 < high < 60
    assert (row["low"], row["is_doubtful"]) == (pytest.approx(34 / (34 + high)), True)
    assert f"up to {high:.0f} more may be faults, so that as little as {100 * row['low']:.0f}% was" in row["statement"]
