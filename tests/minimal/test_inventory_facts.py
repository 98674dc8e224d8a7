"""Facts from an inventory: GPUs of jobs and nodes, hosts of nodes, and states that a later snapshot does not change."""

import pytest

from tests.logs import Cluster, at
from tests.minimal.reading import ask

UNTOLD = {"AllocTRES": "billing=8,cpu=8,node=1", "ReqTRES": "billing=8,cpu=8,node=1"}
XID_79 = "NVRM: Xid (PCI:0000:07:00): 79, pid=1234, GPU has fallen off the bus."


def of_gpus(gpus: int, nodes: int = 1) -> dict[str, str]:
    """Return the resource fields of a record that claims a number of GPUs."""
    return {"AllocTRES": f"cpu=8,gres/gpu={gpus},node={nodes}", "ReqTRES": f"cpu=8,gres/gpu={gpus},node={nodes}"}


def on_a_cloud(host: str, address: str = "10.0.0.155") -> Cluster:
    """A job fails with a lost GPU on its node. The kernel's log calls the node by the name of its host."""
    return (
        Cluster()
        .job(1, "q1-st-p5-[1-2]", at(0), at(6))
        .job(2, "q1-st-p5-1", at(8), at(10), "FAILED")
        .inventory("q1-st-p5-1", NodeAddr=address, NodeHostName="ip-10-0-0-155", State="IDLE+CLOUD")
        .inventory("q1-st-p5-2", NodeAddr="10.0.0.156", NodeHostName="ip-10-0-0-156", State="IDLE+CLOUD")
        .kernel(host, at(9, minutes=59, seconds=50), XID_79)
    )


WITHDRAWN = {
    "n1": "State=DOWN+DRAIN {seen} Reason=HC: check_gpu_count: 7 of 8 [root@2024-05-19T11:58:00]",
    "n2": "State=MIXED+DRAIN {seen} Reason=NHC: check_hw_ib: down [root@2024-05-19T11:58:00]",
    "n3": "State=IDLE {seen}",
}


def snapshot(cluster: Cluster, day: int, states: dict[str, str]) -> Cluster:
    """Add `scontrol -o show node` of that day of May."""
    seen = f"LastBusyTime=2024-05-{day:02}T00:00:00"
    facts = "Gres=gpu:a100:8 CfgTRES=cpu=64,gres/gpu=8 Partitions=train"
    lines = [f"NodeName={node} {facts} {state.format(seen=seen)}" for node, state in states.items()]
    return cluster.file(f"inventory/nodes.2024-05-{day:02}.txt", *lines)


def failed_beside_a_withdrawal() -> Cluster:
    """Jobs of eighteen days, then one on each node that fails two minutes after a request to drain, if there is one.

    The snapshot of the next midnight shows n1 down and n2 still draining.
    """
    cluster = Cluster()
    for day in range(18):
        for number in (1, 2, 3):
            cluster.job(10 * day + number, f"n{number}", at(1, days=day), at(7, days=day))
    for number in (1, 2, 3):
        cluster.job(900 + number, f"n{number}", at(6, days=18), at(12, days=18), "FAILED")
    return snapshot(cluster, 20, WITHDRAWN)


BACK = dict.fromkeys(WITHDRAWN, "State=IDLE {seen}")
CLUSTERS = {
    # Accounting names no GPUs. g1 has 4 of them, c1 none, and the inventory does not know x1.
    "gpus-of-accounting-unknown": Cluster(gpus_per_node=4)
    .inventory("g1", CPUTot="64")
    .inventory("c1", Gres="(null)", CfgTRES="cpu=64")
    .job(1, "c1", at(0), at(1), **UNTOLD)
    .job(2, "g1", at(0), at(1), **UNTOLD)
    .job(3, "g1", at(0), at(1), AllocTRES="cpu=64,node=1")
    .job(4, "x1", at(0), at(1), **UNTOLD)
    .job(5, "c1,x1", at(0), at(1), **UNTOLD)
    .job(6, "c1", at(2), at(3), "NODE_FAIL", **UNTOLD),
    # Nodes of 8 GPUs, each with one impossible record.
    "gpus-of-a-million": Cluster()
    .inventory("n[1-2]")
    .job(1, "n[1-2]", at(0), at(10))
    .job(2, "n1", at(10), at(20), **of_gpus(1_000_000))
    .job(3, "n[1-2]", at(20), at(22), **of_gpus(17, 2))
    .file("inventory/scontrol_node.txt", "NodeName=b1 CPUTot=8 Gres=gpu:a100:1500000000 State=IDLE")
    .file("inventory/scontrol_node.txt", "NodeName=b2 CPUTot=8 Gres=gpu:a100:1500000000 State=IDLE"),
    "host-by-name": on_a_cloud("ip-10-0-0-155"),
    "host-by-name-with-its-domain": on_a_cloud("ip-10-0-0-155.ec2.internal"),
    "host-by-address": on_a_cloud("10.0.0.155"),
    # The inventory has the host name for both nodes.
    "host-of-two-nodes": on_a_cloud("10.0.0.156", address="10.0.0.156"),
    "still-withdrawn": failed_beside_a_withdrawal(),
    "shown-back-later": snapshot(failed_beside_a_withdrawal(), 29, BACK),
    # The row of the drain has its end, and only the snapshot has the time of the request.
    "drained-and-back": snapshot(
        failed_beside_a_withdrawal().event(
            "n2", at(12, days=18), at(9, days=20), "DRAIN", "NHC: check_hw_ib: down", "slurm(64030)"
        ),
        29,
        BACK,
    ),
}
TRUTHS = {
    "a job has no GPUs on nodes that have none": (
        "gpus-of-accounting-unknown",
        "job_id, gpu_count from marts.fct_attempts order by job_id",
        [("1", 0), ("2", None), ("3", 4), ("4", None), ("5", None), ("6", 0)],
    ),
    "what the inventory does not say of a node is unknown": (
        "gpus-of-accounting-unknown",
        "node_id, is_gpu_node from marts.dim_nodes order by node_id",
        [("c1", False), ("g1", True), ("x1", None)],
    ),
    "a record with more GPUs than its nodes counts as unknown": (
        "gpus-of-a-million",
        "job_id, gpu_count, gpu_count_source from marts.fct_attempts order by job_id",
        [("1", 16, "tres"), ("2", None, "refuted"), ("3", None, "refuted")],
    ),
    "it has no GPU-hours": ("gpus-of-a-million", "sum(gpu_hours) from marts.fct_attempts", [(160,)]),
    "a check says so": (
        "gpus-of-a-million",
        "count(*) from ops.checks where check_name = 'gpus_of_nodes' and not passed",
        [(1,)],
    ),
    "a node with more GPUs than any machine has those that are configured": (
        "gpus-of-a-million",
        "gpu_count, gpu_count_source from marts.dim_nodes order by node_id",
        [(8, "configuration")] * 2 + [(8, "inventory")] * 2,
    ),
    "a host of two nodes is neither": (
        "host-of-two-nodes",
        "reason, detail from ops.quarantine",
        [("unknown_node", "10.0.0.156")],
    ),
    "and causes no failure": ("host-of-two-nodes", "count(*) from marts.fct_failures", [(0,)]),
    **{
        f"logs may call a node by its host: {cluster}": (
            cluster,
            "failure_category, culprit_node_id from marts.fct_failures",
            [("gpu_unavailable", "q1-st-p5-1")],
        )
        for cluster in ("host-by-name", "host-by-name-with-its-domain", "host-by-address")
    },
    **{
        f"failures that a snapshot explains stay: {cluster}": (
            cluster,
            "job_id, failure_category from marts.fct_attempts where is_infrastructure_failure order by job_id_raw",
            [("901", "gpu_unavailable"), ("902", "ib_link")],
        )
        for cluster in ("still-withdrawn", "shown-back-later", "drained-and-back")
    },
}


@pytest.mark.parametrize(("cluster", "query", "expected"), TRUTHS.values(), ids=TRUTHS)
def test_truth(minimal, cluster, query, expected):
    assert ask(minimal, cluster, query) == expected
