"""Minimal clusters: a few lines of logs, and the expected numbers, computed by hand.

All clusters of this folder share one home, which is refreshed once per session, because a refresh takes about fifteen
seconds, and each additional cluster about one. A test module defines its clusters in `CLUSTERS` and reads the
published file through the fixture `minimal`, a read-only DuckDB connection:

    from tests.logs import Cluster, at

    CLUSTERS = {
        "drained-for-an-hour": Cluster()
        .job(1, "n1", at(0), at(9))
        .slurmctld(at(10), "update_node: node n1 reason set to: fan", "update_node: node n1 state set to DRAINED")
        .slurmctld(at(11), "update_node: node n1 state set to IDLE"),
    }


    def test_a_drain_ends_when_the_node_is_idle(minimal):
        hours = "select date_diff('minute', started_at, ended_at) / 60 from marts.fct_node_outages"
        assert minimal.execute(f"{hours} where cluster_id = 'drained-for-an-hour'").fetchall() == [(1.0,)]

A key is the cluster's folder and `cluster_id`. It must be unique within this folder of tests and say what the cluster
shows. Times are UTC, and `at(hours)` counts from midnight of 1 May 2024. `Cluster.file` adds raw lines of kinds that
have no method. `python -m tests.minimal.cluster NAME DIR` writes the logs of a cluster.
"""
