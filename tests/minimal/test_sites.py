"""Sites of other kinds: shared nodes, edges of the window, no GPUs, shares of GPUs."""

import pytest
from pytest import approx

from tests.logs import Cluster, at
from tests.minimal.reading import ask, rate

HALF = {"AllocTRES": "cpu=32,gres/gpu=4,node=1", "ReqTRES": "cpu=32,gres/gpu=4,node=1"}
CLUSTERS = {
    # Jobs 1 and 2 have half of n1 each, from midnight and from 4:00, and both are lost with it at 10:00.
    "two-jobs-lose-their-node": Cluster()
    .inventory("n[1-2]")
    .job(99, "n2", at(0), at(0))
    .job(1, "n1", at(0), at(10), "NODE_FAIL", **HALF)
    .job(2, "n1", at(4), at(10), "NODE_FAIL", **HALF)
    .event("n1", at(10), at(12), "DOWN", "Not responding", "slurm(64030)")
    .job(3, "n2", at(0), None, "RUNNING", ElapsedRaw=str(86400)),
    # The first end is on day 1, so the study excludes earlier runs. On day 5, n2 is still in use.
    "edges-of-the-window": Cluster()
    .job(1, "n1", at(days=-9), at(days=1))
    .job(2, "n2", at(days=-5), at(days=3), "NODE_FAIL")
    .job(3, "n1", at(days=1), at(days=4))
    .job(4, "n2", at(days=3), None, "RUNNING", ElapsedRaw=str(2 * 86400))
    .job(5, "n1", at(days=4), at(days=5)),
    # 4 GPUs a node, known only from the inventory: there is no cluster.toml.
    "nodes-of-four-gpus": Cluster(gpus_per_node=4)
    .inventory("n[1-80]")
    .job(99, "n1", at(0), at(0))
    .job(1, "n[1-40]", at(0), at(days=10))
    .job(2, "n[41-80]", at(0), at(days=10), "NODE_FAIL"),
    # Three nodes of 8 GPUs, two of 4 and two of 16. Two jobs share a node of 16.
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
}

RATES = [
    # Physical node-days: 10 h of n1 + 24 h of n2 = 34 h. Those charged to attempts: 10 + 6 + 24 = 40 h.
    ("two-jobs-lose-their-node", "nodes", "incidents", (approx(1), approx(34 / 24), approx(1000 * 24 / 34))),
    ("two-jobs-lose-their-node", "all", "attempts", (2, approx(40 / 24), approx(2000 * 24 / 40))),
    # Days 1 to 5: n1 for 3 + 1 days, n2 for 2 + 2 days, and the failure of day 3: 1 in 8 node-days.
    ("edges-of-the-window", "all", "attempts", (1, approx(8), approx(125))),
    ("edges-of-the-window", "nodes", "incidents", (approx(1), approx(8), approx(125))),
    # Jobs 1 to 3 fill two nodes each for ten days, and one of them fails.
    ("nodes-of-three-sizes", "whole_nodes", "attempts", (1, approx(60), approx(1000 / 60))),
    # Two nodes for 4 + 2 days: 1 failure in 12 node-days.
    ("no-gpus", "all", "attempts", (1, approx(12), approx(1000 / 12))),
    ("nodes-of-four-gpus", "gpus_gt_128", "attempts", (1, approx(800), approx(1.25))),
]
IN_USE = "node_id, in_use_hours, allocated_gpu_hours, out_of_service_hours from marts.fct_node_days "
TRUTHS = {
    # 4 GPUs x (10 + 6) h
    "a node that two jobs share is used once": (
        "two-jobs-lose-their-node",
        f"{IN_USE} where node_id = 'n1' and day_date = date '2024-05-01'",
        [("n1", 10, 64, 2)],
    ),
    "both jobs fail with the node that they share": (
        "two-jobs-lose-their-node", "distinct culprit_node_id from marts.fct_failures", [("n1",)],
    ),
    "the study begins with the first end and lasts while a node is in use": (
        "edges-of-the-window", "study_from_at, study_to_at from marts.dim_clusters", [(at(days=1), at(days=5))],
    ),
    "a node's exposure is that within the study": (
        "edges-of-the-window",
        "node_id, exposure, event_count, date_diff('day', date '2024-05-01', window_start_date) "
        "from estimates.est_lemon_nodes order by node_id",
        [("n1", approx(4), 0, 1), ("n2", approx(4), 1, 1)],
    ),
    "a node is last seen where the export shows its job running": (
        "edges-of-the-window",
        "node_id, last_seen_at from marts.dim_nodes order by node_id",
        [("n1", at(days=5)), ("n2", at(days=5))],
    ),
    "a job has whole nodes by the GPUs of its own nodes: jobs 4 and 5 have half of a node each": (
        "nodes-of-three-sizes",
        "split_part(attempt_id, ':', 2), is_whole_node from marts.fct_attempt_exposures where exposure_seconds > 0 "
        "order by attempt_id",
        [("1", True), ("2", True), ("3", True), ("4", False), ("5", False)],
    ),
    # 24 + 8 + 32 GPUs on 7 nodes; other jobs have nodes of 8 GPUs.
    "a job on the whole cluster has all its nodes": (
        "nodes-of-three-sizes",
        "gpu_count, node_count, is_cluster_size from estimates.est_mttf_projections "
        "where gpu_count between 16 and 128 order by gpu_count",
        [(16, 2, False), (32, 4, False), (64, 7, True), (128, 16, False)],
    ),
    "and so has its plan": (
        "nodes-of-three-sizes", "node_count from estimates.est_checkpoint_plans where gpu_count = 64", [(7,)],
    ),
    "a cluster has the commonest size of its nodes": (
        "nodes-of-three-sizes", "gpu_count, gpu_node_count, gpus_per_node from marts.dim_clusters", [(64, 7, 8)],
    ),
    # Slurm names no GPU of a node, so its jobs had none, though accounting may not record GPUs.
    "nodes for which Slurm names no GPU have none": (
        "no-gpus", "distinct gpu_count, is_gpu_node from marts.dim_nodes", [(0, False)],
    ),
    "a cluster of such nodes has none": ("no-gpus", "gpu_count from marts.dim_clusters", [(0,)]),
    "their jobs have none by the inventory": (
        "no-gpus", "distinct gpu_count, gpu_count_source from marts.fct_attempts", [(0, "inventory")],
    ),
    "and lose no GPU-hours": ("no-gpus", "lost_gpu_hours from marts.fct_failures", [(0,)]),
    "a slice is a GPU of Slurm, named with its total or without it, and a share is none": (
        "slices-and-shares",
        "job_id_raw, gpu_count from marts.fct_attempts order by job_id_raw",
        [(1, 2), (2, 3), (3, 0), (4, 1)],
    ),
    "a node has its slices and not its shares": (
        "slices-and-shares", "node_id, gpu_count from marts.dim_nodes order by node_id", [("m1", 14), ("s1", 2)],
    ),
    "two slices lose half an hour each": ("slices-and-shares", "lost_gpu_hours from marts.fct_failures", [(1,)]),
    # m1: 2 x 10 h + 3 x 4 h; s1: 1 x 8 h
    "slices are used and shares are not": (
        "slices-and-shares",
        "node_id, in_use_hours, allocated_gpu_hours from marts.fct_node_days where day_date = date '2024-05-01' "
        "order by node_id",
        [("m1", 10, 32), ("s1", 8, 8)],
    ),
    "the GPUs of a node are known from the inventory alone": (
        "nodes-of-four-gpus", "gpus_per_node from marts.dim_clusters", [(4,)],
    ),
    # 256 GPUs are 64 nodes, which last 800 / 64 = 12.5 days; 32 would last 25.
    "a run has as many nodes as the GPUs of the inventory make": (
        "nodes-of-four-gpus",
        "node_count, mttf_hours / 24 from estimates.est_mttf_projections where gpu_count = 256",
        [(64, approx(12.5))],
    ),
    "jobs that fill such nodes have whole ones": (
        "nodes-of-four-gpus",
        "bool_and(is_whole_node) from marts.fct_attempt_exposures where exposure_seconds > 0",
        [(True,)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("cluster", "population", "counted_as", "expected"), RATES)
def test_rates_of_nodes_and_attempts(minimal, cluster, population, counted_as, expected):
    """Failures, node-days and failures per 1,000 node-days."""
    assert rate(minimal, cluster, population, counted_as) == expected


@pytest.mark.parametrize(("cluster", "query", "expected"), TRUTHS.values(), ids=TRUTHS)
def test_truth(minimal, cluster, query, expected):
    assert ask(minimal, cluster, query) == expected
