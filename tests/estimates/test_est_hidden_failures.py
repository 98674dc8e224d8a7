"""Hidden failures, planted: a black hole, hangs after an event, and a crash loop that makes no node guilty."""

import pytest

from assets.estimates.est_hidden_failures import est_hidden_failures
from tests.estimates.five_clusters import read
from tests.warehouses import filled

# Ten users run 60 jobs of an hour each on nodes 0 to 19 of the cluster `planted`, every twentieth of which times out.
# On node 0 all of them fail at once. On nodes 3 to 8 user 1 fails 40 times under one name. On node 9 ten jobs of each
# user fail by infrastructure. User 2 also has jobs on nodes 10 to 17 together, a quarter of which fail.
# Of cluster `arrays` each user has, every day, an array of 40 tasks and four jobs of names of their own. Two tasks of
# each array, one of which fails, and every twentieth job meet an event; half of the jobs fail, struck or not. Each
# attempt has its own node.
# Cluster `struck` has the same users; their jobs run two hours, and half of them meet an event after one. Those end
# only at their limit of eight hours. Cluster `alone` has no bad node, but user 3 fails at once on node 9 on 30 days.
MARTS = """
insert into marts.dim_clusters (cluster_id, study_from_at, study_to_at)
select cluster_id, '2026-01-01', '2026-03-01'
from (values ('planted'), ('struck'), ('alone'), ('arrays')) as clusters (cluster_id);

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
    3600, true
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
    'planted', 'large' || j, 'u2', 'large' || j, list_transform(range(10, 18), lambda n: 'n' || n),
    timestamp '2026-01-14' + to_hours(j), if(j % 4 = 0, 'FAILED', 'COMPLETED'), 3600, false
from range(40) as jobs (j)
union all
select
    'struck', 's' || u || '-' || j, 'u' || u, 'job' || j, ['n' || u], timestamp '2026-01-02' + to_hours(12 * j),
    if(j % 2 = 0, 'TIMEOUT', 'COMPLETED'), if(j % 2 = 0, 8, 2) * 3600, false
from range(10) as users (u), range(20) as jobs (j)
union all
select
    'arrays', 'task' || u || '-' || d || '-' || t as attempt_id, 'u' || u, 'array', [attempt_id],
    timestamp '2026-01-02' + to_days(d), if(t = 0, 'FAILED', 'COMPLETED'), 3600, false
from range(10) as users (u), range(20) as days (d), range(40) as tasks (t)
union all
select
    'arrays', 'single' || u || '-' || j as attempt_id, 'u' || u, 'single' || j, [attempt_id],
    timestamp '2026-01-02' + to_days(j // 4), if(j // 20 % 2 = 1, 'FAILED', 'COMPLETED'), 3600, false
from range(10) as users (u), range(80) as jobs (j);

insert into marts.fct_attempts by name
select
    * exclude (nodes), started_at + to_seconds(runtime_seconds) as ended_at, len(nodes) as node_count,
    8 as gpu_size_bin, true as is_terminal, 'train' as partition
from ends;
update marts.fct_attempts set
    gpu_hours = 10, gpu_utilisation = case job_name when 'job1' then 0.02 when 'job2' then 0.05 when 'job3' then 0.9 end
where cluster_id = 'struck';
insert into marts.fct_attempt_nodes by name select cluster_id, attempt_id, unnest(nodes) as node_id from ends;
insert into marts.fct_health_events by name
select
    cluster_id, 'e' || attempt_id as event_id, nodes[1] as node_id, started_at + interval 1 hour as observed_at,
    true as is_evidence, 'gpu_memory' as failure_category
from ends
where cluster_id = 'struck' and state = 'TIMEOUT'
union all
select
    cluster_id, 'e' || attempt_id as event_id, nodes[1] as node_id, started_at + interval 30 minute as observed_at,
    true as is_evidence, 'gpu_memory' as failure_category
from ends
where cluster_id = 'arrays' and cast(split_part(attempt_id, '-', -1) as integer) % 20 = 0;
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
    (row,) = rows(cluster_id="planted", kind="failed_late", node_id="n9")
    assert (row["attempt_count"], row["exposure"]) == (0, 30)


def test_no_user_alone_makes_a_suspect(rows):
    (row,) = rows(cluster_id="alone", kind="failed_early", node_id="n9")
    assert (row["attempt_count"], row["exposure"]) == (33, 60)
    assert row["q_value"] < 0.01
    assert rows(cluster_id="alone", is_suspect=True) == []


def test_an_attempt_on_several_nodes_is_elsewhere_for_none_of_them(rows):
    """All 40 large jobs of user 2 ran on the same eight nodes: there is nothing to compare them with."""
    (row,) = rows(cluster_id="planted", kind="failed_late", node_id="n10")
    assert (row["attempt_count"], row["exposure"], row["event_count"]) == (10, 70, 0)
    assert (row["method"], row["odds_ratio"], row["q_value"]) == ("not_compared", None, None)


def test_gpus_held_without_use_are_counted_where_the_use_is_known(rows):
    """Of ten users 30 jobs of 10 GPU-hours have a summary; ten of these used less than a twentieth."""
    (row,) = rows(kind="idle_gpus")
    assert (row["cluster_id"], row["node_id"], row["odds_ratio"], row["q_value"]) == ("struck", None, None, None)
    assert (row["attempt_count"], row["user_count"], row["held_gpu_hours"]) == (10, 10, 100)
    assert (row["event_count"], row["exposure"], row["exposure_unit"]) == (10, 300, "GPU-hours")
    assert (row["method"], row["is_suspect"], row["note"]) == ("measured", False, None)


def test_hangs_after_an_event_are_found(rows):
    """All jobs were as old as the struck ones, and those that were not struck completed."""
    (row,) = rows(cluster_id="struck", is_suspect=True)
    assert (row["kind"], row["node_id"], row["user_count"]) == ("after_gpu_memory", None, 10)
    assert (row["attempt_count"], row["event_count"], row["exposure"]) == (100, 100, 100)
    assert row["low"] > 20


def test_an_array_is_one_job_on_both_sides_of_an_event(rows):
    """Of each user's 20 arrays and 80 jobs, 1 and 4 were struck, of which 0.5 and 2 failed; of the rest 38 of 95."""
    (row,) = rows(cluster_id="arrays", kind="after_gpu_memory")
    assert (row["attempt_count"], row["user_count"], row["is_suspect"]) == (220, 10, False)
    assert (row["event_count"], row["exposure"]) == pytest.approx((25, 50))
    assert row["odds_ratio"] == pytest.approx(2.5 * 57 / (2.5 * 38))


def test_the_ratio_is_that_of_strata_worked_out_by_hand(rows):
    """Three jobs of each user on node 7 and four of user 1, who has six more. All timeouts of user 0 are there."""
    (row,) = rows(cluster_id="planted", kind="timeout", node_id="n7")
    assert (row["attempt_count"], row["user_count"], row["event_count"]) == (3, 1, 3)
    elsewhere = 8 * 3 * 3 / 60 + 4 * 3 / 66
    assert row["odds_ratio"] == pytest.approx(3 * 57 / 60 / elsewhere)
    assert row["expected_count"] == pytest.approx(3 * 3 / 60 + elsewhere)
    assert row["low"] < row["odds_ratio"] < row["high"]
    assert (row["method"], row["is_suspect"], row["note"]) == ("mantel_haenszel", False, None)
