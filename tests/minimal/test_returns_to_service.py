"""When a node that was taken out of service is back, as slurmctld's log and the jobs that start tell it."""

import pytest

from tests.logs import Cluster, at


def drained(hours: float = 10) -> Cluster:
    """A node that ran a job until 9:00 and was drained at 10:00, or so many hours after midnight."""
    return (
        Cluster()
        .job(1, "n1", at(0), at(9))
        .slurmctld(at(hours), "update_node: node n1 reason set to: fan", "update_node: node n1 state set to DRAINED")
    )


def back_by(message: str) -> Cluster:
    """The same node, back at 11:00 by the log's own words; a job runs on it since, and tells no more than they do."""
    return drained().slurmctld(at(11), message).job(2, "n1", at(12), at(20))


def silent(*days: float) -> Cluster:
    """A node that was given up as silent at noon of each of these days."""
    cluster = Cluster().job(1, "n1", at(0), at(9)).job(2, "n2", at(0), at(9))
    for day in days:
        cluster.slurmctld(at(12, days=day), "error: Nodes n1 not responding, setting DOWN")
    return cluster


LESS = "gres/gpu count reported lower than configured (7 < 8)"
CLUSTERS = {
    "returned-idle": back_by("update_node: node n1 state set to IDLE"),
    "returned-allocated": back_by("update_node: node n1 state set to ALLOCATED"),
    "returned-mixed": back_by("update_node: node n1 state set to MIXED"),
    # Nobody says that the node is back, and yet a job starts on it at 12:00.
    "returned-to-jobs": drained().job(2, "n1", at(12), at(20)),
    # The job that runs when its node is drained goes on until 9:00; the next one starts at 12:30.
    "drained-under-a-job": drained(8).job(2, "n1", at(12, minutes=30), at(20)),
    # Drained again at 14:00 and back by nothing: the start at 12:00 tells of the first time alone.
    "drained-again": drained()
    .job(2, "n1", at(12), at(13))
    .slurmctld(at(14), "update_node: node n1 state set to DRAINED"),
    # Whoever asks for accounting's node events believes them: the drain ended at 15:00.
    "returned-by-events": drained()
    .event("n1", at(10), at(15), "DRAIN", "fan")
    .job(2, "n1", at(12), at(20)),
    "registered-with-less": Cluster()
    .job(1, "n1", at(0), at(9))
    .slurmctld(
        at(10), f"error: Setting node n1 state to INVAL with reason:{LESS}", "drain_nodes: node n1 state set to DRAIN"
    )
    .slurmctld(at(11), "update_node: node n1 state set to IDLE"),
    # Slurm refuses to resume a node that is idle: it answered ten minutes after it was given up, and was back.
    "resumed-while-idle": silent(0, 3)
    .slurmctld(at(12, minutes=10), "Node n1 now responding")
    .slurmctld(
        at(12, minutes=20), "Invalid node state transition requested for node n1 from=IDLE to=RESUME"
    )
    .slurmctld(at(16, days=6), "update_node: node n1 state set to IDLE"),
    # Slurm sets down only what is up: the node was back when it answered, an hour after the first time.
    "given-up-twice": silent(0, 3).slurmctld(at(13), "Node n1 now responding"),
    # Nothing tells when it was back, but it was five minutes before it was given up again.
    "given-up-twice-without-a-word": silent(0, 3),
    # A drained node may fall silent as often as it likes.
    "silent-while-drained": drained()
    .slurmctld(at(12), "error: Nodes n1 not responding, setting DOWN")
    .slurmctld(at(12, days=3), "error: Nodes n1 not responding, setting DOWN"),
    # A host of the cloud that did not start is thrown away ten minutes later, and a new one starts after three days.
    "not-resumed": Cluster()
    .job(1, "n1", at(0), at(9))
    .inventory("n1", State="IDLE+CLOUD+POWERED_DOWN")
    .slurmctld(at(10), "node n1 not resumed by ResumeTimeout(1800), setting DOWN and POWERED_DOWN")
    .slurmctld(at(10, minutes=10), "powering down node n1")
    .slurmctld(at(10, days=3), "update_node: node n1 state set to IDLE"),
    # A machine that stands in a rack keeps its fault when it is switched off.
    "switched-off-broken": drained().inventory("n1").slurmctld(at(11), "powering down node n1"),
}  # fmt: skip


def outages(minimal, cluster):
    """Start and end of a cluster's outages in hours after midnight, and the reason."""
    return minimal.execute(
        """
        select date_diff('second', timestamp '2024-05-01', started_at) / 3600,
            date_diff('second', timestamp '2024-05-01', ended_at) / 3600, reason
        from marts.fct_node_outages
        where cluster_id = $cluster
        order by started_at, node_id
        """,
        {"cluster": cluster},
    ).fetchall()


@pytest.mark.parametrize("cluster", ["returned-idle", "returned-allocated", "returned-mixed"])
def test_a_drain_ends_however_the_log_says_so(minimal, cluster):
    assert outages(minimal, cluster) == [(10.0, 11.0, "fan")]


def test_a_job_that_starts_tells_that_the_node_is_back(minimal):
    assert outages(minimal, "returned-to-jobs") == [(10.0, 12.0, "fan")]


def test_a_job_that_goes_on_while_its_node_drains_tells_nothing(minimal):
    assert outages(minimal, "drained-under-a-job") == [(8.0, 12.5, "fan")]


def test_a_start_ends_no_later_drain(minimal):
    assert outages(minimal, "drained-again") == [(10.0, 12.0, "fan"), (14.0, None, None)]


def test_node_events_are_believed_before_jobs(minimal):
    assert outages(minimal, "returned-by-events") == [(10.0, 15.0, "fan")]


def test_a_node_that_registers_with_less_is_out_for_that_reason(minimal):
    assert outages(minimal, "registered-with-less") == [(10.0, 11.0, LESS)]
    assert minimal.execute(
        "select failure_category, state from marts.fct_node_outages where cluster_id = 'registered-with-less'"
    ).fetchall() == [("gpu_unavailable", "DRAIN")]


@pytest.mark.parametrize(
    ("cluster", "expected"),
    [
        ("resumed-while-idle", [(12.0, 12 + 1 / 3, "Not responding"), (84.0, 160.0, "Not responding")]),
        ("given-up-twice", [(12.0, 13.0, "Not responding"), (84.0, None, "Not responding")]),
        ("given-up-twice-without-a-word", [(12.0, 84 - 1 / 12, "Not responding"), (84.0, None, "Not responding")]),
        ("silent-while-drained", [(10.0, None, "fan")]),
    ],
)
def test_slurm_sets_down_only_what_is_up(minimal, cluster, expected):
    assert outages(minimal, cluster) == [tuple(map(approximately, outage)) for outage in expected]


def approximately(value):
    """Hours are fractions of seconds."""
    return pytest.approx(value) if isinstance(value, float) else value


def test_nothing_is_left_of_a_host_of_the_cloud_that_is_powered_down(minimal):
    assert outages(minimal, "not-resumed") == [(10.0, pytest.approx(10 + 1 / 6), "ResumeTimeout reached")]
    assert outages(minimal, "switched-off-broken") == [(10.0, None, "fan")]
