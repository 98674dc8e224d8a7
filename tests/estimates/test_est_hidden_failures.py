"""Hidden failures, planted: a black hole, a node on which jobs hang, and a crash loop that makes no node guilty."""

import pytest

from assets.estimates.est_hidden_failures import est_hidden_failures
from tests.estimates.five_clusters import read
from tests.warehouses import filled

# Ten users run 60 jobs of an hour each on nodes 0 to 19 of the cluster `planted`, every twentieth of which times out.
# On node 0 all of them fail at once. On nodes 3 to 8 user 1 fails 40 times under one name. On node 9 ten jobs of each
# user fail by infrastructure.
# In cluster `wide` user 2 has jobs on nodes 10 to 17 together, a quarter of which time out.
# In cluster `hanging` each user has 20 jobs on each of 10 nodes; on node 4 half of them time out, elsewhere a
# twentieth. Cluster `alone` has no bad node, but user 3 fails at once on node 9 on 30 days.
# In cluster `again` user 1 starts one job four times on nodes 0 and 1 together, and two others once on nodes 2 and 3,
# one of which fails late and one of which is cancelled.
MARTS = """
insert into marts.dim_clusters (cluster_id, study_from_at, study_to_at)
select cluster_id, '2026-01-01', '2026-03-01'
from (values ('planted'), ('hanging'), ('alone'), ('again'), ('wide')) as clusters (cluster_id);

create temp table ends as
select
    'planted' as cluster_id, 'p' || u || '-' || j as attempt_id, 'u' || u as user_name, 'job' || j as job_name,
    ['n' || (j + u) % 20] as nodes, timestamp '2026-01-02' + to_hours(j) as started_at,
    case when (j + u) % 20 = 0 then 'FAILED' when j % 20 = 7 then 'TIMEOUT' else 'COMPLETED' end as state,
    if(state = 'FAILED', 20, 3600) as runtime_seconds, false as is_infrastructure_failure
from range(10) as users (u), range(60) as jobs (j)
union all
select
    'planted', 'loop' || n || '-' || j, 'u1', 'loop', ['n' || n], timestamp '2026-01-10' + to_minutes(j), 'FAILED', 20,
    false
from range(3, 9) as nodes (n), range(40) as starts (j)
union all
select
    'planted', 'known' || u || '-' || j, 'u' || u, 'known' || j, ['n9'], timestamp '2026-01-12' + to_hours(j), 'FAILED',
    20, true
from range(10) as users (u), range(10) as starts (j)
union all
select
    'alone', 'x' || u || '-' || j, 'u' || u, 'job' || j, ['n' || (j + u) % 20], timestamp '2026-01-02' + to_hours(j),
    if(j % 19 = 7, 'FAILED', 'COMPLETED'), 20, false
from range(10) as users (u), range(60) as jobs (j)
union all
select 'alone', 'again' || d, 'u3', 'again', ['n9'], timestamp '2026-01-12' + to_days(d), 'FAILED', 20, false
from range(30) as days (d)
union all
select
    'wide', 'large' || j, 'u2', 'large' || j, list_transform(range(10, 18), lambda n: 'n' || n),
    timestamp '2026-01-14' + to_hours(j), if(j % 4 = 0, 'TIMEOUT', 'COMPLETED'), 3600, false
from range(40) as jobs (j)
union all
select
    'hanging', 'h' || u || '-' || n || '-' || j, 'u' || u, 'job' || j, ['n' || n],
    timestamp '2026-01-02' + to_hours(12 * j + n),
    if(j % if(n = 4, 2, 20) = 0, 'TIMEOUT', 'COMPLETED'), 7200, false
from range(10) as users (u), range(10) as nodes (n), range(20) as jobs (j)
union all
select
    'again', 'a' || j, 'u1', 'job', ['n0', 'n1'], timestamp '2026-01-02' + to_hours(j),
    if(j = 0, 'TIMEOUT', 'COMPLETED'), 3600, false
from range(4) as starts (j)
union all
select
    'again', 'b' || j, 'u1', 'other' || j, ['n2', 'n3'], timestamp '2026-01-02', if(j = 0, 'FAILED', 'CANCELLED'), 3600,
    false
from range(2) as jobs (j);

insert into marts.fct_attempts by name
select
    * exclude (nodes), started_at + to_seconds(runtime_seconds) as ended_at, len(nodes) as node_count,
    8 as gpu_size_bin, true as is_terminal, 'train' as partition
from ends;
update marts.fct_attempts set
    gpu_hours = 10, gpu_utilisation = case job_name when 'job1' then 0.02 when 'job2' then 0.05 when 'job3' then 0.9 end
where cluster_id = 'hanging' and attempt_id like 'h%-0-%';
insert into marts.fct_attempt_nodes by name select cluster_id, attempt_id, unnest(nodes) as node_id from ends;
"""


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Rows of the estimate by their keys."""
    house = filled(tmp_path_factory.mktemp("hidden"), MARTS)
    est_hidden_failures(warehouse=house)
    return lambda **key: read(house, "est_hidden_failures", **key)


def test_the_black_hole_is_the_only_suspect_of_its_cluster(rows):
    """Three jobs of each user ran on it, all failed at once, and nobody's failed so elsewhere but those of user 1."""
    (row,) = rows(cluster_id="planted", is_suspect=True)
    assert (row["kind"], row["node_id"]) == ("failed_early", "n0")
    assert (row["attempt_count"], row["user_count"], row["exposure"], row["event_count"]) == (30, 10, 30, 30)
    assert row["odds_ratio"] is None
    assert row["low"] > 20
    assert row["high"] is None
    assert row["method"] == "one_sided_limit"
    assert row["note"] == "a black hole: jobs fail as soon as they start"
    assert row["q_value"] < 1e-6


def test_a_crash_loop_counts_once_on_each_of_its_nodes(rows):
    for node in range(3, 9):
        (row,) = rows(cluster_id="planted", kind="failed_early", node_id=f"n{node}")
        assert (row["attempt_count"], row["user_count"], row["event_count"], row["exposure"]) == (40, 1, 1, 31)


def test_an_attributed_failure_is_not_hidden(rows):
    (row,) = rows(cluster_id="planted", kind="failed_early", node_id="n9")
    assert (row["attempt_count"], row["exposure"]) == (0, 30)


def test_no_user_alone_makes_a_suspect(rows):
    (row,) = rows(cluster_id="alone", kind="failed_early", node_id="n9")
    assert (row["attempt_count"], row["exposure"]) == (33, 60)
    assert row["q_value"] < 0.01
    assert rows(cluster_id="alone", is_suspect=True) == []


def test_an_attempt_on_several_nodes_is_elsewhere_for_none_of_them(rows):
    """All 40 large jobs of user 2 ran on the same eight nodes: there is nothing to compare them with."""
    (row,) = rows(cluster_id="wide", kind="timeout", node_id="n10")
    assert (row["attempt_count"], row["exposure"], row["event_count"]) == (10, 40, 0)
    assert (row["method"], row["odds_ratio"], row["q_value"]) == ("not_compared", None, None)


def test_gpus_held_without_use_are_counted_where_the_use_is_known(rows):
    """Of ten users 30 jobs of 10 GPU-hours have a summary; ten of these used less than a twentieth."""
    (row,) = rows(kind="idle_gpus")
    assert (row["cluster_id"], row["node_id"], row["odds_ratio"], row["q_value"]) == ("hanging", None, None, None)
    assert (row["attempt_count"], row["user_count"], row["held_gpu_hours"]) == (10, 10, 100)
    assert (row["event_count"], row["exposure"], row["exposure_unit"]) == (10, 300, "GPU-hours")
    assert (row["method"], row["is_suspect"], row["note"]) == ("measured", False, None)


def test_a_node_on_which_jobs_hang_is_found(rows):
    """Half of the jobs of ten users time out on it, and a twentieth of those on nine other nodes."""
    (row,) = rows(cluster_id="hanging", is_suspect=True)
    assert (row["kind"], row["node_id"], row["user_count"]) == ("timeout", "n4", 10)
    assert (row["attempt_count"], row["event_count"], row["exposure"]) == (100, 100, 200)
    assert row["odds_ratio"] == pytest.approx(19)
    assert row["note"] == "jobs hang until their time limit"


def test_a_job_that_starts_again_weighs_as_one_on_each_of_its_nodes(rows):
    """A quarter of the job ended so, of one job on its nodes and of three in all."""
    (own,) = rows(cluster_id="again", kind="timeout", node_id="n0")
    assert (own["attempt_count"], own["event_count"], own["exposure"]) == (1, 0.25, 1)
    assert own["expected_count"] == pytest.approx(0.25 / 3)
    (other,) = rows(cluster_id="again", kind="timeout", node_id="n2")
    assert (other["attempt_count"], other["event_count"], other["exposure"]) == (0, 0, 2)
    assert other["expected_count"] == pytest.approx(2 * 0.25 / 3)


def test_late_failures_and_cancellations_are_ordinary_ends(rows):
    assert {row["kind"] for row in rows()} == {"failed_early", "timeout", "idle_gpus"}
    assert [row["attempt_count"] for row in rows(cluster_id="again", node_id="n2")] == [0, 0]


def test_the_ratio_is_that_of_strata_worked_out_by_hand(rows):
    """Three jobs of each user on node 7 and four of user 1, who has six more. All timeouts of user 0 are there."""
    (row,) = rows(cluster_id="planted", kind="timeout", node_id="n7")
    assert (row["attempt_count"], row["user_count"], row["event_count"]) == (3, 1, 3)
    elsewhere = 8 * 3 * 3 / 60 + 4 * 3 / 66
    assert row["odds_ratio"] == pytest.approx(3 * 57 / 60 / elsewhere)
    assert row["expected_count"] == pytest.approx(3 * 3 / 60 + elsewhere)
    assert row["low"] < row["odds_ratio"] < row["high"]
    assert (row["method"], row["is_suspect"], row["note"]) == ("mantel_haenszel", False, None)
