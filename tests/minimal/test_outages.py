"""Outages of a node: their rows, their reason, and the time out of service."""

import pytest

from tests.logs import Cluster, at
from tests.minimal.reading import ask


def used_for_a_month() -> Cluster:
    """Jobs of six hours on two nodes, on each of 29 days, and node events that cover them."""
    cluster = Cluster()
    for day in range(29):
        for number in (1, 2):
            cluster.job(10 * day + number, f"n{number}", at(1, days=day), at(7, days=day))
    for day in (0, 28):
        cluster.event("n2", at(8, days=day), at(9, days=day), "DOWN", "PSU failure")
    return cluster


TIMED_OUT = {
    "flagged": ("capacity", "IDLE+CLOUD+POWERED_DOWN", ()),
    "never": ("capacity", None, ()),
    "removed": ("capacity", None, ((7, "Node removed now responding"), (9, "powering down node removed"))),
    "answered": (
        "node_fail_unattributed",
        None,
        ((9, "powering down node answered"), (10.2, "Node answered rebooted 9 secs ago")),
    ),
    "own": ("node_fail_unattributed", "IDLE", ()),
}
"""Nodes that did not boot in time: the cause, the state in the inventory, and earlier lines of the controller."""


def of_a_cloud() -> Cluster:
    """Jobs that wait for nodes to boot, one that loses its machine after a notice, and one that loses its node."""
    cluster = Cluster()
    for number, (node, (_, state, lines)) in enumerate(TIMED_OUT.items()):
        cluster.job(number, node, at(10), at(10.5), "BOOT_FAIL" if number % 2 else "NODE_FAIL")
        for hours, line in lines:
            cluster.slurmctld(at(hours), line)
        cluster.slurmctld(at(10.5), f"node {node} not resumed by ResumeTimeout(1800), setting DOWN and POWERED_DOWN")
        cluster.slurmctld(at(10.6), f"powering down node {node}")
        if state:
            cluster.inventory(node, State=state)
    cluster.job(10, "spot", at(10), at(12), "REQUEUED").job(11, "lost", at(10), at(12), "NODE_FAIL")
    notice = ("reason set to: Spot instance interruption notice", "state set to DOWN")
    cluster.slurmctld(at(12), *(f"update_node: node spot {words}" for words in notice))
    return cluster.slurmctld(at(12), "error: Nodes lost not responding, setting DOWN")


CLUSTERS = {
    # Three rows of the first day are one outage: Slurm notices, a check explains, and a flag of the state changes.
    "one-outage-of-three-rows": used_for_a_month()
    .event("n1", at(8), at(10), "DOWN", "Not responding", "slurm(64030)")
    .event("n1", at(10), at(12), "DRAIN", "HC: xid errors: XID error: 79")
    .event("n1", at(12, seconds=30), at(13), "DRAIN", "HC: xid errors: XID error: 79")
    .event("n1", at(8, days=2), at(9, days=2), "DOWN", "Not responding", "slurm(64030)"),
    # Planned work from 8:00 to 12:00 and a fault from 10:00 to 14:00: six hours.
    "a-fault-within-planned-work": used_for_a_month()
    .event("n1", at(8), at(12), "DRAIN", "maint: replace cable")
    .event("n1", at(10), at(14), "DOWN", "PSU failure"),
    # The node is switched off in a reservation for maintenance, which ends the job.
    "switched-off-in-a-reservation": used_for_a_month()
    .job(999, "n1", at(8), at(10), "NODE_FAIL")
    .event("n1", at(10), at(12), "DOWN$", "Not responding", "slurm(64030)"),
    # Planned work takes n1 down and ends a job of two nodes. Then the earlier request to drain n2 takes effect.
    "planned-during-a-drain": used_for_a_month()
    .job(999, "n[1-2]", at(10), at(12), "NODE_FAIL")
    .event("n1", at(12), at(14), "DOWN", "maint: replace cable")
    .event("n2", at(12), at(14), "DRAIN", "PSU failure"),
    # slurmctld began without its state: accounting has a row for every node, though none failed.
    "cold-start": used_for_a_month().event("n1", at(8), at(10), "DOWN", "cold-start", "slurm(64030)"),
    # The node answers again twice while it waits for its repair.
    "not-responding-within-a-repair": used_for_a_month()
    .event("n1", at(8), at(12, days=19), "DRAIN", "rma gpu")
    .event("n1", at(10, days=4), at(11, days=4), "DOWN", "Not responding")
    .event("n1", at(10, days=9), at(11, days=9), "DOWN", "Not responding"),
    "of-a-cloud": of_a_cloud(),
}

OUTAGES = {
    # Successive rows are one outage.
    "one-outage-of-three-rows": [
        (at(8), at(13), "gpu_unavailable", "HC: xid errors: XID error: 79", 3),
        (at(8, days=2), at(9, days=2), "node_fail_unattributed", "Not responding", 1),
    ],
    # Planned work and a fault stay apart and share their hours.
    "a-fault-within-planned-work": [
        (at(8), at(12), "planned", "maint: replace cable", 1),
        (at(10), at(14), "host_hardware", "PSU failure", 1),
    ],
    # Rows within a longer row are the same outage.
    "not-responding-within-a-repair": [(at(8), at(12, days=19), "node_fail_unattributed", "Not responding", 3)],
    # No node failed.
    "cold-start": [(at(8), at(10), "planned", "cold-start", 1)],
    # Slurm marks the state of such a node with a dollar, and its own reports count it as planned.
    "switched-off-in-a-reservation": [(at(10), at(12), "planned", "Not responding", 1)],
}
"""Start, end, category, reason and merged rows of the outages of n1."""
OUT_HOURS = "out_of_service_hours from marts.fct_node_days where node_id = 'n1' and day_date = '2024-05-01'"
OUT_COUNT = "max(out_count) from marts.agg_lemon_signals where node_id = 'n1'"
ENDED = "end_reason, is_infrastructure_failure from marts.fct_attempts where state = 'NODE_FAIL'"
TRUTHS = {
    "each reason of an outage stays evidence": (
        "one-outage-of-three-rows",
        "observed_at, failure_category from marts.fct_health_events "
        "where node_id = 'n1' and check_name = 'node reason' order by observed_at",
        [
            (at(8), "node_fail_unattributed"),
            (at(10), "gpu_unavailable"),
            (at(8, days=2), "node_fail_unattributed"),
        ],
    ),
    "three rows are one of two times out": ("one-outage-of-three-rows", OUT_COUNT, [(2,)]),
    "three rows are five hours": ("one-outage-of-three-rows", OUT_HOURS, [(5,)]),
    "planned work is no time out": ("a-fault-within-planned-work", OUT_COUNT, [(1,)]),
    "hours of planned work and a fault count once": ("a-fault-within-planned-work", OUT_HOURS, [(6,)]),
    "a node that answers within its repair was out once": ("not-responding-within-a-repair", OUT_COUNT, [(1,)]),
    "a day of a long repair": ("not-responding-within-a-repair", OUT_HOURS, [(16,)]),
    "a cold start takes its hours": ("cold-start", OUT_HOURS, [(2,)]),
    "a node switched off in a reservation did not fail": ("switched-off-in-a-reservation", ENDED, [("planned", False)]),
    "a drain that the end of a job lets take effect has not ended it": (
        "planned-during-a-drain",
        ENDED,
        [("planned", False)],
    ),
}


@pytest.mark.parametrize("cluster", OUTAGES)
def test_outages_of_a_node(minimal, cluster):
    columns = "started_at, ended_at, failure_category, reason, interval_count from marts.fct_node_outages"
    assert ask(minimal, cluster, f"{columns} where node_id = 'n1' order by started_at") == OUTAGES[cluster]


@pytest.mark.parametrize(("cluster", "query", "expected"), TRUTHS.values(), ids=TRUTHS)
def test_truth(minimal, cluster, query, expected):
    assert ask(minimal, cluster, query) == expected


def test_a_cloud_without_a_machine_is_no_failure_of_a_node(minimal):
    expected = {node: category for node, (category, *_) in TIMED_OUT.items()}
    expected |= {"spot": "capacity", "lost": "node_fail_unattributed"}
    assert dict(ask(minimal, "of-a-cloud", "node_id, failure_category from marts.fct_node_outages")) == expected
    ends = ask(
        minimal,
        "of-a-cloud",
        "node_id, end_reason, is_infrastructure_failure from marts.fct_attempts "
        "inner join marts.fct_attempt_nodes using (cluster_id, attempt_id)",
    )
    assert {node: reason == "capacity" for node, reason, _ in ends} == {
        node: category == "capacity" for node, category in expected.items()
    }
    assert all((reason is None) == is_failure for _, reason, is_failure in ends)
