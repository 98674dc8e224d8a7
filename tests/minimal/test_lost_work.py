"""Work lost at an interruption is half the configured time between checkpoints, and half an hour where none is said."""

from tests.minimal.cluster import Cluster, at

FAILED_AFTER_TEN_HOURS = (1, "n1", at(0), at(10), "NODE_FAIL")

CLUSTERS = {
    "checkpoints-every-ten-minutes": Cluster("[ettr]\ncheckpoint_minutes = 10\n").job(*FAILED_AFTER_TEN_HOURS),
    "checkpoints-not-told": Cluster().job(*FAILED_AFTER_TEN_HOURS),
}


def test_eight_gpus_lose_half_an_interval_each(minimal):
    """8 GPUs x 5 minutes, and x 30 minutes."""
    lost = dict(
        minimal.execute(
            "select cluster_id, lost_gpu_hours from marts.fct_failures where cluster_id like 'checkpoints-%'"
        ).fetchall()
    )
    assert lost == {"checkpoints-every-ten-minutes": 8 * 5 / 60, "checkpoints-not-told": 4.0}
