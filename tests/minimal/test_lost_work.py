"""Work lost at an interruption is half the configured time between checkpoints, and half an hour where none is said."""

from pytest import approx

from tests.logs import Cluster, at

FAILED_AFTER_TEN_HOURS = (1, "n1", at(0), at(10), "NODE_FAIL")

CLUSTERS = {
    "checkpoints-every-ten-minutes": Cluster("[ettr]\ncheckpoint_minutes = 10\n").job(*FAILED_AFTER_TEN_HOURS),
    "checkpoints-not-told": Cluster().job(*FAILED_AFTER_TEN_HOURS),
    "three-failures-of-a-second-each": Cluster()
    .job(1, "n1", at(0), at(seconds=1), "NODE_FAIL")
    .job(1, "n1", at(seconds=2), at(seconds=3), "NODE_FAIL")
    .job(1, "n1", at(seconds=4), at(seconds=5), "NODE_FAIL"),
}


def test_eight_gpus_lose_half_an_interval_each(minimal):
    """8 GPUs x 5 minutes, and x 30 minutes."""
    lost = dict(
        minimal.execute(
            "select cluster_id, lost_gpu_hours from marts.fct_failures where cluster_id like 'checkpoints-%'"
        ).fetchall()
    )
    assert lost == {"checkpoints-every-ten-minutes": 8 * 5 / 60, "checkpoints-not-told": 4.0}


def test_an_incident_loses_what_its_failures_lose(minimal):
    """8 GPUs x 3 seconds."""
    incidents = "select lost_gpu_hours from marts.fct_incidents where cluster_id = 'three-failures-of-a-second-each'"
    assert minimal.execute(incidents).fetchall() == [(approx(8 * 3 / 3600, rel=1e-9),)]
