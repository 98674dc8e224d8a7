"""Hidden failures, planted: a black hole, a node on which jobs hang, and a crash loop that makes no node a suspect."""

import pytest

from assets.estimates.est_hidden_failures import est_hidden_failures
from tests.estimates.five_clusters import read
from tests.warehouses import filled

# Ten users run 60 jobs of an hour each on nodes 0 to 19 of the cluster `planted`; every twentieth job times out.
# On node 0 all of them fail at once. On nodes 3 to 8 user 1 fails 40 times under one name. On node 9 ten jobs of each
# user fail by infrastructure.
# In cluster `wide` user 2 has jobs on nodes 10 to 17 together; a quarter of them time out.
# In cluster `hanging` each user has 20 jobs on each of 10 nodes; on node 4 half of them time out, elsewhere a
# twentieth. Cluster `alone` has no bad node, but user 3 fails at once on node 9 on 30 days.
# In cluster `again` user 1 starts one job four times on nodes 0 and 1 together, and two others once on nodes 2 and 3:
# one fails late and one is cancelled.
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
    """Return the rows of the estimate by their keys."""
    house = filled(tmp_path_factory.mktemp("hidden"), MARTS)
    est_hidden_failures(warehouse=house)
    return lambda **key: read(house, "est_hidden_failures", **key)


ELSEWHERE = 8 * 3 * 3 / 60 + 4 * 3 / 66
"""Three jobs of each user on node 7 and four of user 1, who has six more; all timeouts of user 0 are there."""
COUNTS = ("attempt_count", "user_count", "event_count", "exposure")
ROWS = [
    # Three jobs of each user ran on it and all failed at once; elsewhere only jobs of user 1 failed so.
    ("planted", "failed_early", "n0", (30, 10, 30, 30), {
        "is_suspect": True, "odds_ratio": None, "high": None, "method": "one_sided_limit"}),
    # A crash loop counts once on each of its nodes, an attributed failure not at all.
    *(("planted", "failed_early", f"n{node}", (40, 1, 1, 31), {}) for node in range(3, 9)),
    ("planted", "failed_early", "n9", (0, 0, None, 30), {}),
    ("planted", "timeout", "n7", (3, 1, 3, None), {
        "odds_ratio": 3 * 57 / 60 / ELSEWHERE, "expected_count": 3 * 3 / 60 + ELSEWHERE, "method": "mantel_haenszel",
        "is_suspect": False, "note": None}),
    # No user alone makes a suspect, though such ends are not by chance.
    ("alone", "failed_early", "n9", (33, None, None, 60), {"is_suspect": False}),
    # All 40 large jobs of user 2 ran on the same eight nodes: there is nothing to compare them with.
    ("wide", "timeout", "n10", (10, None, 0, 40), {"method": "not_compared", "odds_ratio": None, "q_value": None}),
    # Of ten users 30 jobs of 10 GPU-hours have a summary; ten of these used less than a twentieth.
    ("hanging", "idle_gpus", None, (10, 10, 10, 300), {
        "held_gpu_hours": 100, "exposure_unit": "GPU-hours", "odds_ratio": None, "q_value": None, "method": "measured",
        "is_suspect": False, "note": None}),
    # Half of the jobs of ten users time out on it, and a twentieth of those on nine other nodes.
    ("hanging", "timeout", "n4", (100, 10, 100, 200), {"is_suspect": True, "odds_ratio": 19.0}),
    # A quarter of the job ended so, of one job on its nodes and of three in all.
    ("again", "timeout", "n0", (1, None, 0.25, 1), {"expected_count": 0.25 / 3}),
    ("again", "timeout", "n2", (0, None, 0, 2), {"expected_count": 2 * 0.25 / 3}),
    ("again", "failed_early", "n2", (0, None, None, None), {}),
]  # fmt: skip
"""Cluster, kind, node, its counts, and the values of other columns."""


@pytest.mark.parametrize(("cluster_id", "kind", "node_id", "counts", "expected"), ROWS)
def test_ends_on_a_node_count_against_those_of_the_same_users_elsewhere(
    rows, cluster_id, kind, node_id, counts, expected
):
    (row,) = rows(cluster_id=cluster_id, kind=kind, node_id=node_id)
    known = {name: value for name, value in zip(COUNTS, counts, strict=True) if value is not None}
    for name, value in (known | expected).items():
        assert row[name] == (pytest.approx(value) if isinstance(value, float) else value), name


def test_no_other_node_is_a_suspect(rows):
    assert {(row["cluster_id"], row["node_id"]) for row in rows(is_suspect=True)} == {
        ("planted", "n0"), ("hanging", "n4"),
    }  # fmt: skip
    (hole,) = rows(cluster_id="planted", is_suspect=True)
    assert hole["low"] > 20 and hole["q_value"] < 1e-6
    (alone,) = rows(cluster_id="alone", kind="failed_early", node_id="n9")
    assert alone["q_value"] < 0.01
    assert {row["kind"] for row in rows()} == {"failed_early", "timeout", "idle_gpus"}, "others are ordinary ends"
