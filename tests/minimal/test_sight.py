"""A fault that no log could show is neither "never seen" nor limited, and the wording says why."""

import pytest

from tests.logs import Cluster, at
from tests.minimal.reading import ask

XID = "NVRM: Xid (PCI:0000:0f:00): 79, pid=1, GPU has fallen off the bus."
HABANALABS = "habanalabs hl0: Heartbeat failed, device is not operational"
CHATTER = "usb 1-1: new high-speed USB device number 2 using xhci_hcd"
GARBAGE = "ssh: connect to host n1 port 22: Connection refused"
FAULTY_DAYS = (3, 9, 14, 20, 26)


def worked():
    """Two nodes run a job of ten hours each on 30 days. On five days one job ends FAILED."""
    cluster = Cluster()
    for day in range(30):
        for node in (1, 2):
            state = "FAILED" if node == 1 and day in FAULTY_DAYS else "COMPLETED"
            cluster.job(2 * day + node, f"n{node}", at(days=day), at(10, days=day), state)
    return cluster


def logged(cluster, path="kernel/kern.log", nodes=("n1", "n2"), fault=XID):
    """Add a kernel log with a harmless line of each node every day, and with the faults of GPUs."""
    lines = []
    for day in range(30):
        lines += [f"{at(1, days=day).isoformat()}+00:00 {node} kernel: {CHATTER}" for node in nodes]
        if day in FAULTY_DAYS:
            lines.append(f"{at(9.99, days=day).isoformat(timespec='seconds')}+00:00 n1 kernel: {fault}")
    return cluster.file(path, *lines)


CLUSTERS = {
    "sight-understood": logged(worked()),
    "sight-refused": worked().file("kernel/kern.log", *[GARBAGE] * 40),
    "sight-blind": worked().file("kernel/kern.log", f"{at(1).isoformat()}+00:00 n1 kernel: {CHATTER}", *[GARBAGE] * 40),
    "sight-missing": worked(),
    "sight-half": logged(worked(), "kernel/n1.log", nodes=("n1",)),
    "sight-gaudi": logged(worked().inventory("n[1-2]", Gres="gpu:gaudi2:8"), fault=HABANALABS),
}


def reference(minimal, cluster):
    """Return failures, upper limit and note of the reference rate, and whether it is a lower bound."""
    columns = "failure_count, failures_per_1000_node_days_high, note, is_lower_bound"
    (row,) = ask(minimal, cluster, f"{columns} from estimates.est_failure_rates where is_reference")
    return row


def cause(minimal, cluster, category):
    """Return failures, upper limit, share of seen GPU-hours, and note of a cause."""
    columns = "failure_count, failures_per_gpu_hour_high, seen_ratio, note from estimates.est_cause_rates"
    of_cause = f"where counted_as = 'attempts' and failure_category = '{category}'"
    (row,) = ask(minimal, cluster, f"{columns} {of_cause}")
    return row


def test_a_log_that_is_understood_shows_failures_and_bounds_what_it_never_showed(minimal):
    count, high, _, _ = reference(minimal, "sight-understood")
    assert count == pytest.approx(5, abs=0.6)
    assert high > 5 * 1000 / 60
    found, bound, ratio, note = cause(minimal, "sight-understood", "gpu_memory")
    assert (found, ratio, note) == (0, 1, "never seen: only the upper limit is known")
    assert bound == pytest.approx(3 / (60 * 10 * 8), rel=0.01)


@pytest.mark.parametrize("cluster", ["sight-refused", "sight-blind", "sight-missing"])
def test_a_log_that_was_refused_or_not_understood_is_none(minimal, cluster):
    count, high, note, is_lower_bound = reference(minimal, cluster)
    assert (count, high, is_lower_bound) == (None, None, True)
    assert "not observable: 5 attempts ended FAILED on nodes without an understood log" in note.split("; ")
    unseen = "not observable: no kernel log or log of node events was understood"
    *found, note = cause(minimal, cluster, "gpu_memory")
    assert (found, note.endswith(f"; {unseen}")) == ([None, None, 0], True)
    assert cause(minimal, cluster, "node_fail_unattributed")[0] == 0
    assert ask(minimal, cluster, "has_kernel_messages from marts.dim_clusters") == [(False,)]
    assert ask(minimal, cluster, "count(*) from ops.sight") == [(0,)]


def test_a_cause_is_bounded_on_the_nodes_that_were_seen_alone(minimal):
    found, bound, ratio, note = cause(minimal, "sight-half", "gpu_memory")
    assert (found, ratio) == (0, 0.5)
    assert bound == pytest.approx(3 / (30 * 10 * 8), rel=0.01)
    assert note == "never seen: only the upper limit is known; seen in 50% of the GPU-hours"
    days = "node_id, count(*) from ops.sight where cluster_id = $cluster and kind = 'kernel' group by all"
    ((node, count),) = ask(minimal, "sight-half", days)
    assert (node, count) == ("n1", pytest.approx(31, abs=2))


def test_what_the_log_of_a_vendors_gpus_has_no_signature_of_is_not_observable(minimal):
    """Xids about NVLinks are NVIDIA's. No rule reads a link between Gaudis."""
    assert ask(minimal, "sight-gaudi", "distinct gpu_vendor from marts.dim_nodes") == [("intel",)]
    found, bound, ratio, note = cause(minimal, "sight-gaudi", "gpu_nvlink")
    assert (found, bound, ratio) == (None, None, 0)
    assert note == "not observable: no log of node events was understood"
    found, bound, ratio, note = cause(minimal, "sight-gaudi", "gpu_memory")
    assert ratio == 1
    assert bound is not None
