"""When a node that was taken out of service is back, as slurmctld's log and the jobs that start tell it."""

from tests.minimal.cluster import Cluster, at

# Every node is drained at 10:00 and is back at 11:00, however the log says so.
CLUSTERS = {
    "returned-by-idle": Cluster()
    .job(1, "n1", at(0), at(9))
    .slurmctld(at(10), "update_node: node n1 reason set to: fan", "update_node: node n1 state set to DRAINED")
    .slurmctld(at(11), "update_node: node n1 state set to IDLE")
    .job(2, "n1", at(12), at(20)),
}


def outages(minimal, cluster):
    """Start and end of a cluster's outages in hours after midnight."""
    return minimal.execute(
        """
        select date_diff('second', timestamp '2024-05-01', started_at) / 3600,
            date_diff('second', timestamp '2024-05-01', ended_at) / 3600
        from marts.fct_node_outages
        where cluster_id = $cluster
        order by started_at, node_id
        """,
        {"cluster": cluster},
    ).fetchall()


def test_a_drain_ends_when_the_node_is_idle(minimal):
    assert outages(minimal, "returned-by-idle") == [(10.0, 11.0)]
