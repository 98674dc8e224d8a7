"""What a snapshot of the inventory showed stays true when a later snapshot shows the nodes back in service."""

import pytest

from tests.logs import Cluster, at

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
    """Jobs of eighteen days, then one on each node that fails two minutes after its node was asked to drain, if it was.

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
    "still-withdrawn": failed_beside_a_withdrawal(),
    "shown-back-later": snapshot(failed_beside_a_withdrawal(), 29, BACK),
    # The row of the drain tells its end, and only the snapshot tells when it was asked for.
    "drained-and-back": snapshot(
        failed_beside_a_withdrawal().event(
            "n2", at(12, days=18), at(9, days=20), "DRAIN", "NHC: check_hw_ib: down", "slurm(64030)"
        ),
        29,
        BACK,
    ),
}


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_failures_that_a_snapshot_explains_stay(minimal, cluster):
    found = minimal.execute(
        "select job_id, failure_category from marts.fct_attempts "
        "where cluster_id = $cluster and is_infrastructure_failure order by job_id_raw",
        {"cluster": cluster},
    ).fetchall()
    assert found == [("901", "gpu_unavailable"), ("902", "ib_link")]
