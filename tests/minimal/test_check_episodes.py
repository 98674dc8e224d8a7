"""When a check that fails again tells of a new fault, and when it still tells of the old one."""

from tests.minimal.cluster import Cluster, at


def failing(*minutes):
    """Logs of a check that fails so many minutes after ten o'clock."""
    cluster = Cluster().job(1, "n1", at(0), at(9)).job(2, "n1", at(20), at(23))
    for minute in minutes:
        cluster.check("n1", at(10, minutes=minute), "check pci", message="link width is x8")
    return cluster


CLUSTERS = {
    # Every five minutes; 31 minutes of silence are more than six times as long, 30 are not.
    "failures-every-five-minutes": failing(0, 5, 10, 15, 45, 50, 55, 86, 91, 96),
    # The same, and a good result of the day before: this check would have said that the fault was gone.
    "failures-and-good-results": failing(0, 5, 10, 15, 45, 50, 55, 86, 91, 96).check(
        "n1", at(-14), "check pci", result=0
    ),
}


def onsets(minimal, cluster):
    return [
        found
        for (found,) in minimal.execute(
            "select date_diff('minute', timestamp '2024-05-01 10:00', observed_at) from marts.fct_health_events "
            "where cluster_id = $cluster order by observed_at",
            {"cluster": cluster},
        ).fetchall()
    ]


def test_six_repeats_of_silence_end_an_episode_where_only_failures_are_logged(minimal):
    assert onsets(minimal, "failures-every-five-minutes") == [0, 86]


def test_where_good_results_are_logged_they_end_it(minimal):
    assert onsets(minimal, "failures-and-good-results") == [0]
