"""What is published holds the truth as often as it promises, from the logs to the estimates."""

import pandas as pd
import pytest

from tests.coverage.claims import CLAIMS, Claim
from tests.coverage.end_to_end import judged, measure_folders, measure_in_turns

SETS = 2000
FOLDERS = 100


def verdicts(measured: dict[str, pd.DataFrame]) -> list[str]:
    return [
        f"{claim.name}, {kind}: {held} of {tried} held, asked {claim}"
        for claim in CLAIMS
        for kind, held, tried, is_as_asked in judged(claim, measured[claim.name])
        if not is_as_asked
    ]


@pytest.mark.slow
def test_limits_of_two_thousand_data_sets_hold_the_truth_as_often_as_they_promise():
    assert not verdicts(measure_in_turns(SETS, 0))


@pytest.mark.slow
def test_limits_of_a_hundred_clusters_refreshed_from_their_logs_hold_the_truth(tmp_path):
    assert not verdicts(measure_folders(tmp_path, FOLDERS, 10_000))


def test_a_share_that_is_too_low_or_too_high_is_seen():
    claim = Claim("", lambda con, truths: pd.DataFrame())
    found = pd.DataFrame({"kind": "steady", "expected": 20.0, "is_held": [True] * 182 + [False] * 18})
    assert [verdict[3] for verdict in judged(claim, found)] == [True, True]
    for held in (150, 200):
        found["is_held"] = [True] * held + [False] * (200 - held)
        assert [verdict[3] for verdict in judged(claim, found)] == [False, False]
    few = found.assign(expected=3.0)
    assert [verdict[0] for verdict in judged(claim, few)] == ["fewer than 10 events"]
    assert judged(claim, few)[0][3], "limits of few events may hold always"
