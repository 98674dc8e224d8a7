"""Sites of other kinds: shared nodes, edges of the window, no GPUs, shares of GPUs, JSON, exports without a header."""

import json

from pytest import approx

from tests.logs import START, Cluster, at


def json_record(job_id, nodes, submit, start, end, state, gpus):
    """A record of `sacct --json`, with what is read of it."""
    since, until, queued = (int((moment - START).total_seconds()) + 1714521600 for moment in (start, end, submit))
    tres = [
        {"type": "cpu", "name": None, "id": 1, "count": 64},
        {"type": "node", "name": None, "id": 4, "count": 1},
        {"type": "gres", "name": "gpu", "id": 1001, "count": gpus},
    ]
    return {
        "job_id": job_id,
        "name": "train",
        "user": "alice",
        "account": "nlp",
        "partition": "train",
        "qos": "normal",
        "nodes": nodes,
        "allocation_nodes": 1,
        "array": {"job_id": 0, "task_id": None},
        "het": {"job_id": 0, "job_offset": None},
        "time": {
            "elapsed": until - since,
            "eligible": queued,
            "submission": queued,
            "start": since,
            "end": until,
            "suspended": 0,
            "limit": 600,
        },
        "exit_code": {"status": "SUCCESS", "return_code": 0},
        "state": {"current": state, "reason": "None"},
        "tres": {"allocated": tres, "requested": tres},
        "steps": [],
    }


HALF = {"AllocTRES": "cpu=32,gres/gpu=4,node=1", "ReqTRES": "cpu=32,gres/gpu=4,node=1"}
COLUMNS = ["JobID", "User", "Partition", "Submit", "Eligible", "Start", "End", "State", "NodeList", "AllocTRES"]


def without_header():
    """Two jobs as `sacct -n` prints them; the order of the columns stands in cluster.toml."""
    settings = f"[sacct]\ncolumns = {json.dumps(COLUMNS)}\n"
    return Cluster(settings).file(
        "sacct/sacct.psv",
        "1|alice|train|2024-05-01T00:00:00|2024-05-01T00:00:00|2024-05-01T01:00:00|2024-05-01T07:00:00|COMPLETED|n[1-2]|"
        "cpu=128,gres/gpu=16,node=2",
        "2|bob|train|2024-05-01T00:00:00|2024-05-01T00:00:00|2024-05-01T08:00:00|2024-05-01T20:00:00|NODE_FAIL|n1|"
        "cpu=64,gres/gpu=8,node=1",
    )


CLUSTERS = {
    # Jobs 1 and 2 have half of n1 each, from midnight and from 4:00, and both are lost with it at 10:00.
    "two-jobs-lose-their-node": Cluster()
    .inventory("n[1-2]")
    .job(99, "n2", at(0), at(0))
    .job(1, "n1", at(0), at(10), "NODE_FAIL", **HALF)
    .job(2, "n1", at(4), at(10), "NODE_FAIL", **HALF)
    .event("n1", at(10), at(12), "DOWN", "Not responding", "slurm(64030)")
    .job(3, "n2", at(0), None, "RUNNING", ElapsedRaw=str(86400)),
    # The first end is on day 1: what ran before is not in the study. On day 5, n2 is still in use.
    "edges-of-the-window": Cluster()
    .job(1, "n1", at(days=-9), at(days=1))
    .job(2, "n2", at(days=-5), at(days=3), "NODE_FAIL")
    .job(3, "n1", at(days=1), at(days=4))
    .job(4, "n2", at(days=3), None, "RUNNING", ElapsedRaw=str(2 * 86400))
    .job(5, "n1", at(days=4), at(days=5)),
    # 4 GPUs a node, which the inventory alone tells: there is no cluster.toml.
    "nodes-of-four-gpus": Cluster(gpus_per_node=4)
    .inventory("n[1-80]")
    .job(99, "n1", at(0), at(0))
    .job(1, "n[1-40]", at(0), at(days=10))
    .job(2, "n[41-80]", at(0), at(days=10), "NODE_FAIL"),
    # Three nodes of 8 GPUs, two of 4 and two of 16, one of which two jobs share.
    "nodes-of-three-sizes": Cluster()
    .inventory("n[1-3]")
    .inventory("s[1-2]", Gres="gpu:4", CfgTRES="cpu=64,gres/gpu=4")
    .inventory("w[1-2]", Gres="gpu:16", CfgTRES="cpu=64,gres/gpu=16")
    .job(99, "n1", at(0), at(0))
    .job(1, "n[1-2]", at(0), at(days=10))
    .job(2, "s[1-2]", at(0), at(days=10), "NODE_FAIL", AllocTRES="cpu=128,gres/gpu=8,node=2")
    .job(3, "n3,s1", at(days=10), None, "RUNNING", ElapsedRaw=str(10 * 86400), AllocTRES="cpu=128,gres/gpu=12,node=2")
    .job(4, "w1", at(0), at(days=10), "NODE_FAIL", AllocTRES="cpu=32,gres/gpu=8,node=1")
    .job(5, "w1", at(0), at(days=10), AllocTRES="cpu=32,gres/gpu=8,node=1"),
    "no-gpus": Cluster(gpus_per_node=0)
    .inventory("n[1-2]", Gres="(null)", CfgTRES="cpu=64,mem=512000M,billing=64")
    .job(99, "n2", at(0), at(0), AllocTRES="cpu=64,node=1", ReqTRES="cpu=64,node=1")
    .job(1, "n[1-2]", at(0), at(days=4), AllocTRES="cpu=128,node=2", ReqTRES="cpu=128,node=2")
    .job(2, "n1", at(days=4), at(days=6), "NODE_FAIL", AllocTRES="cpu=64,node=1", ReqTRES="cpu=64,node=1")
    .job(3, "n2", at(days=4), None, "RUNNING", ElapsedRaw=str(2 * 86400), AllocTRES="cpu=64,node=1", ReqTRES=""),
    # Two A100 of seven slices, and two whole ones that jobs share.
    "slices-and-shares": Cluster(gpus_per_node=0)
    .inventory("m1", Gres="gpu:1g.10gb:14", CfgTRES="cpu=64,gres/gpu=14,gres/gpu:1g.10gb=14")
    .inventory("s1", Gres="gpu:a100:2,shard:8", CfgTRES="cpu=64,gres/gpu=2,gres/gpu:a100=2,gres/shard=8")
    .job(1, "m1", at(0), at(10), "NODE_FAIL", AllocTRES="cpu=8,gres/gpu:1g.10gb=2,gres/gpu=2,node=1")
    .job(2, "m1", at(0), at(4), AllocTRES="cpu=8,gres/gpu:1g.10gb=3,node=1")
    .job(3, "s1", at(0), at(6), AllocTRES="cpu=8,gres/shard=4,node=1")
    .job(4, "s1", at(0), at(8), AllocTRES="cpu=8,gres/gpu:a100=1,gres/gpu=1,node=1"),
    "json-with-requeues": Cluster().file(
        "sacct/jobs.json",
        json.dumps(
            {
                "jobs": [
                    json_record(7, "n1", at(0), at(1), at(3), "NODE_FAIL", 8),
                    json_record(7, "n2", at(3), at(4), at(5), "REQUEUED", 8),
                    json_record(7, "n3", at(5), at(6), at(12), "COMPLETED", 8),
                    json_record(8, "n4", at(0), at(0), at(12), "COMPLETED", 8),
                ]
            }
        ),
    ),
    "no-header": without_header(),
}


def rows(minimal, cluster, query):
    """The rows of a query for a cluster."""
    return minimal.execute(query, {"cluster": cluster}).fetchall()


def rate(minimal, cluster, population, counted_as):
    """Failures, node-days and rate per 1,000 node-days of a cluster's population."""
    ((*found,),) = minimal.execute(
        """
        select failure_count, node_days, failures_per_1000_node_days
        from estimates.est_failure_rates
        where cluster_id = $1 and population = $2 and counted_as = $3
        """,
        [cluster, population, counted_as],
    ).fetchall()
    return tuple(found)


def test_a_node_that_two_jobs_share_is_used_and_fails_once(minimal):
    """n1 is in use for 10 h and 4 GPUs x (10 + 6) h = 64 GPU-hours are taken of it; both jobs fail, in one incident.

    Physical node-days: 10 h of n1 + 24 h of n2 = 34 h. Those charged to attempts: 10 + 6 + 24 = 40 h.
    """
    cluster = "two-jobs-lose-their-node"
    assert rows(
        minimal,
        cluster,
        "select in_use_hours, allocated_gpu_hours, out_of_service_hours from marts.fct_node_days "
        "where cluster_id = $cluster and node_id = 'n1' and day_date = date '2024-05-01'",
    ) == [(10, 64, 2)]
    assert rate(minimal, cluster, "nodes", "incidents") == (approx(1), approx(34 / 24), approx(1000 * 24 / 34))
    assert rate(minimal, cluster, "all", "attempts")[:2] == (2, approx(40 / 24))
    culprits = "select distinct culprit_node_id from marts.fct_failures where cluster_id = $cluster"
    assert rows(minimal, cluster, culprits) == [("n1",)]


def test_what_ran_over_the_edges_counts_for_its_part_in_the_window(minimal):
    """The study is of days 1 to 5: n1 for 3 + 1 days, n2 for 2 + 2 days, and the failure of day 3: 1 in 8 node-days."""
    cluster = "edges-of-the-window"
    assert rows(
        minimal,
        cluster,
        "select date_diff('day', timestamp '2024-05-01', study_from_at), "
        "date_diff('day', timestamp '2024-05-01', study_to_at) from marts.dim_clusters where cluster_id = $cluster",
    ) == [(1, 5)]
    assert rate(minimal, cluster, "all", "attempts") == (1, approx(8), approx(125))
    assert rate(minimal, cluster, "nodes", "incidents") == (approx(1), approx(8), approx(125))
    nodes = """
        select node_id, exposure, event_count, date_diff('day', date '2024-05-01', window_start_date)
        from estimates.est_lemon_nodes where cluster_id = $cluster order by 1
    """
    assert rows(minimal, cluster, nodes) == [("n1", approx(4), 0, 1), ("n2", approx(4), 1, 1)]


def test_a_node_is_last_seen_where_the_export_shows_its_job_running(minimal):
    """n1's last job ends on day 5, and n2's still runs then."""
    last = """
        select node_id, date_diff('day', timestamp '2024-05-01', last_seen_at) from marts.dim_nodes
        where cluster_id = $cluster order by 1
    """
    assert rows(minimal, "edges-of-the-window", last) == [("n1", 5), ("n2", 5)]


def test_a_job_has_whole_nodes_by_the_gpus_of_its_own_nodes(minimal):
    """Jobs 1 to 3 fill two nodes each for ten days, and one of them fails; jobs 4 and 5 have half of a node each."""
    cluster = "nodes-of-three-sizes"
    whole = """
        select split_part(attempt_id, ':', 2), is_whole_node from marts.fct_attempt_exposures
        where cluster_id = $cluster and exposure_seconds > 0 order by 1
    """
    assert rows(minimal, cluster, whole) == [("1", True), ("2", True), ("3", True), ("4", False), ("5", False)]
    assert rate(minimal, cluster, "whole_nodes", "attempts") == (1, approx(60), approx(1000 / 60))


def test_a_job_on_the_whole_cluster_has_all_its_nodes(minimal):
    """24 + 8 + 32 GPUs on 7 nodes; other jobs have nodes of 8 GPUs."""
    cluster = "nodes-of-three-sizes"
    sizes = """
        select gpu_count, node_count, is_cluster_size from estimates.est_mttf_projections
        where cluster_id = $cluster and gpu_count between 16 and 128 order by 1
    """
    assert rows(minimal, cluster, sizes) == [(16, 2, False), (32, 4, False), (64, 7, True), (128, 16, False)]
    plans = "select node_count from estimates.est_checkpoint_plans where cluster_id = $cluster and gpu_count = 64"
    assert rows(minimal, cluster, plans) == [(7,)]
    gpus = "select gpu_count, gpu_node_count, gpus_per_node from marts.dim_clusters where cluster_id = $cluster"
    assert rows(minimal, cluster, gpus) == [(64, 7, 8)]


def test_a_cluster_without_gpus_has_rates_by_nodes(minimal):
    """Two nodes for 4 + 2 days: 1 failure in 12 node-days.

    Slurm names no GPU of a node: its jobs had none, though accounting may not keep account of them.
    """
    cluster = "no-gpus"
    assert rate(minimal, cluster, "all", "attempts") == (1, approx(12), approx(1000 / 12))
    nodes = "select distinct gpu_count, is_gpu_node from marts.dim_nodes where cluster_id = $cluster"
    assert rows(minimal, cluster, nodes) == [(0, False)]
    assert rows(minimal, cluster, "select gpu_count from marts.dim_clusters where cluster_id = $cluster") == [(0,)]
    jobs = "select distinct gpu_count, gpu_count_source from marts.fct_attempts where cluster_id = $cluster"
    assert rows(minimal, cluster, jobs) == [(0, "inventory")]
    lost = "select lost_gpu_hours from marts.fct_failures where cluster_id = $cluster"
    assert rows(minimal, cluster, lost) == [(0,)]


def test_slices_count_and_shares_do_not(minimal):
    """A slice is a GPU of Slurm, named with its total or without it; job 1 loses 2 x half an hour."""
    cluster = "slices-and-shares"
    jobs = "select job_id_raw, gpu_count from marts.fct_attempts where cluster_id = $cluster order by 1"
    assert rows(minimal, cluster, jobs) == [(1, 2), (2, 3), (3, 0), (4, 1)]
    nodes = "select node_id, gpu_count from marts.dim_nodes where cluster_id = $cluster order by 1"
    assert rows(minimal, cluster, nodes) == [("m1", 14), ("s1", 2)]
    lost = "select lost_gpu_hours from marts.fct_failures where cluster_id = $cluster"
    assert rows(minimal, cluster, lost) == [(1,)]
    used = """
        select node_id, in_use_hours, allocated_gpu_hours from marts.fct_node_days
        where cluster_id = $cluster and day_date = date '2024-05-01' order by 1
    """
    # m1: 2 x 10 h + 3 x 4 h; s1: 1 x 8 h
    assert rows(minimal, cluster, used) == [("m1", 10, 32), ("s1", 8, 8)]


def test_each_requeue_of_json_is_an_attempt_of_one_job(minimal):
    """Job 7 ran for 2, 1 and 6 h after waits of an hour each, and lost its first node; job 8 ran for 12 h."""
    cluster = "json-with-requeues"
    attempts = """
        select job_id_raw, state, runtime_seconds / 3600, queue_seconds / 3600, gpu_count
        from marts.fct_attempts where cluster_id = $cluster order by job_id_raw, submitted_at
    """
    assert rows(minimal, cluster, attempts) == [
        (7, "NODE_FAIL", 2, 1, 8),
        (7, "REQUEUED", 1, 1, 8),
        (7, "COMPLETED", 6, 1, 8),
        (8, "COMPLETED", 12, 0, 8),
    ]
    runs = "select attempt_count from marts.fct_job_runs where cluster_id = $cluster order by 1"
    assert rows(minimal, cluster, runs) == [(1,), (3,)]
    failed = "select state, culprit_node_id from marts.fct_failures where cluster_id = $cluster"
    assert rows(minimal, cluster, failed) == [("NODE_FAIL", "n1")]


def test_an_export_without_a_header_is_read_by_the_columns_of_the_settings(minimal):
    """Two jobs and the failure of the second; all else is as with a header."""
    cluster = "no-header"
    attempts = """
        select job_id_raw, gpu_count, runtime_seconds / 3600, queue_seconds / 3600
        from marts.fct_attempts where cluster_id = $cluster order by 1
    """
    assert rows(minimal, cluster, attempts) == [(1, 16, 6, 1), (2, 8, 12, 8)]
    files = "select lines_in, loaded, quarantined from ops.files where cluster_id = $cluster and kind = 'sacct'"
    assert rows(minimal, cluster, files) == [(2, 2, 0)]
    assert rows(minimal, cluster, "select count(*) from marts.fct_failures where cluster_id = $cluster") == [(1,)]


def test_a_run_has_as_many_nodes_as_the_gpus_of_the_inventory_make(minimal):
    """1 / 800 node-days = 1.25 per 1,000: 256 GPUs are 64 nodes, which last 800 / 64 = 12.5 days (32 would last 25)."""
    cluster = "nodes-of-four-gpus"
    assert rate(minimal, cluster, "gpus_gt_128", "attempts") == (1, approx(800), approx(1.25))
    query = "select gpus_per_node from marts.dim_clusters where cluster_id = $cluster"
    assert rows(minimal, cluster, query) == [(4,)]
    query = """
        select node_count, mttf_hours / 24
        from estimates.est_mttf_projections
        where cluster_id = $cluster and gpu_count = 256
    """
    assert rows(minimal, cluster, query) == [(64, approx(12.5))]
    query = """
        select bool_and(is_whole_node)
        from marts.fct_attempt_exposures
        where cluster_id = $cluster and exposure_seconds > 0
    """
    assert rows(minimal, cluster, query) == [(True,)]
