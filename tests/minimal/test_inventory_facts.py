"""GPUs of jobs and nodes are held against each other, and hosts that the inventory names are its nodes."""

import pytest

from tests.logs import Cluster, at

UNTOLD = {"AllocTRES": "billing=8,cpu=8,node=1", "ReqTRES": "billing=8,cpu=8,node=1"}
XID_79 = "NVRM: Xid (PCI:0000:07:00): 79, pid=1234, GPU has fallen off the bus."


def of_gpus(gpus: int, nodes: int = 1) -> dict[str, str]:
    """Resources of a record that claims so many GPUs."""
    return {"AllocTRES": f"cpu=8,gres/gpu={gpus},node={nodes}", "ReqTRES": f"cpu=8,gres/gpu={gpus},node={nodes}"}


def on_a_cloud(host: str, address: str = "10.0.0.155") -> Cluster:
    """A job that fails beside a lost GPU on its node, which the kernel's log calls by the name of its host."""
    return (
        Cluster()
        .job(1, "q1-st-p5-[1-2]", at(0), at(6))
        .job(2, "q1-st-p5-1", at(8), at(10), "FAILED")
        .inventory("q1-st-p5-1", NodeAddr=address, NodeHostName="ip-10-0-0-155", State="IDLE+CLOUD")
        .inventory("q1-st-p5-2", NodeAddr="10.0.0.156", NodeHostName="ip-10-0-0-156", State="IDLE+CLOUD")
        .kernel(host, at(9, minutes=59, seconds=50), XID_79)
    )


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
    # Nodes of 8 GPUs, and one record each that cannot be.
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
    # The inventory gives the name to both.
    "host-of-two-nodes": on_a_cloud("10.0.0.156", address="10.0.0.156"),
}


def rows(minimal, cluster, query):
    """The rows of a query for a cluster."""
    return minimal.execute(query, {"cluster": cluster}).fetchall()


def test_a_job_has_no_gpus_on_nodes_that_have_none(minimal):
    jobs = "select job_id, gpu_count from marts.fct_attempts where cluster_id = $cluster order by 1"
    assert rows(minimal, "gpus-of-accounting-unknown", jobs) == [
        ("1", 0), ("2", None), ("3", 4), ("4", None), ("5", None), ("6", 0),
    ]  # fmt: skip
    nodes = "select node_id, is_gpu_node from marts.dim_nodes where cluster_id = $cluster order by 1"
    assert rows(minimal, "gpus-of-accounting-unknown", nodes) == [("c1", False), ("g1", True), ("x1", None)]


def test_a_record_with_more_gpus_than_its_nodes_counts_as_unknown(minimal):
    """Two nodes of 8 GPUs for ten hours are 160 GPU-hours; the others are unknown, and the checks say so."""
    jobs = "select job_id, gpu_count, gpu_count_source from marts.fct_attempts where cluster_id = $cluster order by 1"
    cluster = "gpus-of-a-million"
    assert rows(minimal, cluster, jobs) == [("1", 16, "tres"), ("2", None, "refuted"), ("3", None, "refuted")]
    assert rows(minimal, cluster, "select sum(gpu_hours) from marts.fct_attempts where cluster_id = $cluster") == [
        (160,)
    ]
    failed_checks = (
        "select count(*) from ops.checks where check_name = 'gpus_of_nodes' and not passed and cluster_id = $cluster"
    )
    assert rows(minimal, cluster, failed_checks) == [(1,)]


def test_a_node_with_more_gpus_than_any_machine_has_an_unknown_number(minimal):
    """What is configured is taken for it."""
    cluster = "gpus-of-a-million"
    nodes = "select gpu_count, gpu_count_source from marts.dim_nodes where cluster_id = $cluster order by node_id"
    assert rows(minimal, cluster, nodes) == [(8, "configuration")] * 2 + [(8, "inventory")] * 2
    assert rows(
        minimal, cluster, "select warnings from ops.files where cluster_id = $cluster and kind = 'inventory'"
    ) == [(["impossible_gpu_count"],)]


@pytest.mark.parametrize("cluster", ["host-by-name", "host-by-name-with-its-domain", "host-by-address"])
def test_logs_may_call_a_node_by_its_host(minimal, cluster):
    found = "select failure_category, culprit_node_id from marts.fct_failures where cluster_id = $cluster"
    assert rows(minimal, cluster, found) == [("gpu_unavailable", "q1-st-p5-1")]
    assert rows(minimal, cluster, "select count(*) from ops.quarantine where cluster_id = $cluster") == [(0,)]


def test_a_host_of_two_nodes_is_neither(minimal):
    cluster = "host-of-two-nodes"
    assert rows(minimal, cluster, "select count(*) from marts.fct_failures where cluster_id = $cluster") == [(0,)]
    quarantined = "select reason, detail from ops.quarantine where cluster_id = $cluster"
    assert rows(minimal, cluster, quarantined) == [("unknown_node", "10.0.0.156")]
