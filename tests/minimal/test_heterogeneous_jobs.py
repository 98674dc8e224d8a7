"""A heterogeneous job has the size of all its components. Their GPUs, hours and node-days are counted once."""

import pytest

from tests.logs import Cluster, at
from tests.minimal.reading import ask

UNKNOWN = {"AllocTRES": "cpu=512,gres/gpu=NONE,node=8", "ReqTRES": "cpu=512,node=8"}


def of_two_components() -> Cluster:
    """Job 23 has 96 GPUs on 12 nodes and 64 on 8. A node of the second fails on day 10; both run again for ten days.

    Job 3 has 64 GPUs for ten days. Job 40 has 96 known GPUs and a component with unknown GPUs.
    """
    cluster = Cluster().job(99, "n99", at(0), at(0)).inventory("n[1-20]")
    for job_id, raw, nodes, state in (("23+0", "23", "n[1-12]", "REQUEUED"), ("23+1", "24", "n[13-20]", "NODE_FAIL")):
        cluster.job(job_id, nodes, at(0), at(days=10), state, JobIDRaw=raw)
        cluster.job(job_id, nodes, at(days=10), at(days=20), JobIDRaw=raw)
    cluster.job("40+0", "n[1-12]", at(days=20), at(days=21), JobIDRaw="40")
    cluster.job("40+1", "n[13-20]", at(days=20), at(days=21), JobIDRaw="41", **UNKNOWN)
    return cluster.job(3, "n[13-20]", at(days=21), at(days=31))


def of_failed_components(state: str = "NODE_FAIL") -> Cluster:
    """Job 123 has a component on n1, one on n2 and n3, and one on n4 that ends long before the others.

    The first two run for two hours, and again after the requeue.
    """
    cluster = Cluster().job(99, "n[1-4]", at(0), at(1)).job("123+2", "n4", at(8), at(9), "FAILED", JobIDRaw="125")
    for job_id, raw, nodes in (("123+0", "123", "n1"), ("123+1", "124", "n[2-3]")):
        cluster.job(job_id, nodes, at(8), at(10), state, JobIDRaw=raw)
        cluster.job(job_id, nodes, at(12), at(20), JobIDRaw=raw, submit=at(10))
    return cluster.inventory("n[1-4]")


XID_79 = "NVRM: Xid (PCI:0000:07:00): 79, pid=1234, GPU has fallen off the bus."
CLUSTERS = {
    "two-components": of_two_components(),
    "component-killed-by-name": of_failed_components()
    .slurmctld(at(10), "requeue job JobId=123+1(124) due to failure of node n3")
    .slurmctld(at(10), "error: Nodes n3 not responding, setting DOWN"),
    # The log names the leader, which has no such node.
    "leader-killed-by-name": of_failed_components().slurmctld(at(10), "Killing JobId=123+0(123) on failed node n3"),
    "component-lost-a-gpu": of_failed_components("FAILED").kernel("n3", at(9, minutes=59, seconds=50), XID_79),
    "component-failed-by-nobody": of_failed_components(),
    # Its own node was lost as well.
    "both-components-killed-by-name": of_failed_components()
    .slurmctld(at(10), "Killing JobId=123+0(123) on failed node n1")
    .slurmctld(at(10), "Killing JobId=123+1(124) on failed node n3"),
}


TRUTHS = {
    "components have the size of their job and their own GPUs": (
        "two-components",
        "job_id, attempt_number, gpu_count, job_gpu_count, gpu_size_bin, gpu_hours, node_days from marts.fct_attempts "
        "where job_id_raw != 99 order by job_id_raw, attempt_number",
        [
            ("3", 1, 64, 64, 64, 64 * 240, 80),
            ("23+0", 1, 96, 160, 256, 96 * 240, 120),
            ("23+0", 2, 96, 160, 256, 96 * 240, 120),
            ("23+1", 1, 64, 160, 256, 64 * 240, 80),
            ("23+1", 2, 64, 160, 256, 64 * 240, 80),
            ("40+0", 1, 96, None, None, 96 * 24, 12),
            ("40+1", 1, None, None, None, None, 8),
        ],
    ),
    "so have their runs": (
        "two-components",
        "gpu_count, gpu_size_bin, gpu_hours from marts.fct_job_runs where attempt_count = 2 order by gpu_count",
        [(64, 256, 64 * 480), (96, 256, 96 * 480)],
    ),
    "each component counts as an attempt of that size": (
        "two-components",
        "gpu_size_bin, job_count, gpu_hours from marts.agg_job_sizes where gpu_size_bin > 8 order by gpu_size_bin",
        [(64, 1, 64 * 240), (256, 4, 160 * 480)],
    ),
    "and so it does for the MTTF of a size": (
        "two-components",
        "attempt_count, runtime_hours from estimates.est_mttf_by_size where gpu_size_bin = 256",
        [(4, 4 * 240)],
    ),
    # 20 nodes for 20 days, in which one attempt was lost; no component has more than 128 GPUs by itself.
    "components of a large job are large": (
        "two-components",
        "node_days, failure_count from estimates.est_failure_rates "
        "where population = 'gpus_gt_128' and counted_as = 'attempts_paper'",
        [(400, 1)],
    ),
    "the largest job has the GPUs of its components": (
        "two-components",
        "gpu_count from estimates.est_mttf_projections where is_largest_job",
        [(160,)],
    ),
}


@pytest.mark.parametrize(("cluster", "query", "expected"), TRUTHS.values(), ids=TRUTHS)
def test_truth(minimal, cluster, query, expected):
    assert ask(minimal, cluster, query) == expected


@pytest.mark.parametrize(
    ("cluster", "culprits"),
    [
        ("component-killed-by-name", ["n3", "n3"]),
        ("leader-killed-by-name", ["n3", "n3"]),
        ("component-lost-a-gpu", ["n3", "n3"]),
        ("component-failed-by-nobody", [None, None]),
        ("both-components-killed-by-name", ["n1", "n3"]),
    ],
)
def test_components_that_end_together_fail_with_the_same_node(minimal, cluster, culprits):
    query = "job_id, culprit_node_id, attempt_number, posterior_probability > 0.5, incident_id from marts.fct_failures "
    joined = "inner join marts.fct_attempts using (cluster_id, attempt_id, incident_id) order by job_id"
    found = ask(minimal, cluster, query + joined)
    assert [row[:4] for row in found] == [("123+0", culprits[0], 1, True), ("123+1", culprits[1], 1, True)]
    assert len({row[4] for row in found}) == 1


@pytest.mark.parametrize("cluster", ["component-killed-by-name", "leader-killed-by-name", "component-lost-a-gpu"])
def test_a_component_of_one_node_is_no_job_of_one_node(minimal, cluster):
    fails = "node_id, max(single_node_node_fails), max(multi_node_node_fails) from marts.agg_lemon_signals"
    by_node = ask(minimal, cluster, f"{fails} where cluster_id = $cluster group by node_id order by node_id")
    assert by_node == [("n1", 0, 0), ("n2", 0, 0), ("n3", 0, 1), ("n4", 0, 0)]
