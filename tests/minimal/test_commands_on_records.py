"""What commands say of clusters of which records of failures alone are known."""

import pytest

from orchestration.read_commands.lemon_list import list_lemons
from orchestration.read_commands.plan import RunToPlan, plan_on_cluster
from orchestration.read_commands.published import ReadingError
from orchestration.read_commands.status import lines_of, status
from tests.logs import Cluster

CLUSTERS: dict[str, Cluster] = {}
"""Those of test_recorded_failures.py."""


def test_commands_say_what_is_known_of_records_alone(minimal_home):
    path = minimal_home.published_file
    with pytest.raises(
        ReadingError, match=r"'failures-alone' has no accounting.*nodes with the most recorded failures"
    ):
        list_lemons(path, "failures-alone")
    with pytest.raises(
        ReadingError, match=r"no accounting.*give --rate; its recorded failures come to 41\.7 per 1,000"
    ):
        plan_on_cluster(path, "failures-alone", RunToPlan(8, 1.0, 0.9))
    assert "cluster    failures-alone: 6 recorded failures, the last 2024-06-02 00:00 UTC" in lines_of(
        status(minimal_home)
    )
