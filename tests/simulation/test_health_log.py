"""The health log of ledgers made by hand: the kept results and their times, and results that must be missing."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from assets.simulation.ledger import Symptoms
from assets.simulation.logs.conditions import ALL, FREQUENT, Spans
from assets.simulation.profiles import DAY, HOUR
from assets.simulation.states import ALARM, CRASH, DRAIN, LOST, REBOOT
from assets.simulation.symptoms import show_alarm
from tests.simulation.small_ledger import Handmade, Row
from tests.simulation.small_ledger import small_site as site

OK, WARN, CRITICAL = 0, 1, 2
PERIOD = 300
SPARSE = {"frequent_seconds": 8 * HOUR, "daily_seconds": 7 * DAY, "job_check_share": 0.02}


EACH = {"frequent_seconds": PERIOD, "daily_seconds": PERIOD}


def by_check(rows: list[Row]) -> dict[tuple[str, str], list[int]]:
    """Return the whole seconds of the rows by node and check."""
    times: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in rows:
        times[row["node"], row["health_check"]].append(int(row["at"]))
    return times


@pytest.mark.parametrize(("habits", "days"), [({}, 3), (SPARSE, 22)])
def test_good_results_come_at_the_intervals_of_the_profile(tmp_path: Path, habits: dict[str, float], days: int) -> None:
    profile = site(days=days, habits=habits)
    times = by_check(Handmade(profile).health(tmp_path))
    assert set(times) == {(f"node{node:03d}", check) for node in (1, 2, 3) for check in ALL}
    for (_, check), seconds in times.items():
        every = profile.logs.frequent_seconds if check in FREQUENT else profile.logs.daily_seconds
        assert len(seconds) == days * DAY // every + (seconds[0] < days * DAY % every)
        assert seconds[0] < every
        assert set(np.diff(seconds)) <= {every}


def test_a_failing_check_is_kept_each_time_until_the_restart(tmp_path: Path) -> None:
    made = Handmade(site(habits=EACH))
    made.breaks(1, at=10_000, checks_from=10_100, cleared=20_000, epilog_job=77, mechanism=DRAIN)
    rows = [row for row in made.health(tmp_path) if row["node"] == "node002" and row["health_check"] == "disk usage"]
    failing = [row for row in rows if row["result"] == CRITICAL]
    assert [(int(row["at"]), row["type"], row["job_id"]) for row in failing if row["type"] != "nagios"] == [
        (10_100, "epilog", 77)
    ]
    ticks = [int(row["at"]) for row in failing if row["type"] == "nagios"]
    assert ticks == list(range(ticks[0], 20_000 - 240, PERIOD))
    assert 10_100 <= ticks[0] < 10_100 + PERIOD
    assert not [row for row in rows if row["result"] == OK and 10_000 <= row["at"] < 20_000 - 240]


def test_all_checks_run_before_a_node_returns(tmp_path: Path) -> None:
    made = Handmade(site())
    made.outage(0, start=50_000, end=60_000)
    made.outage(2, start=250_000, end=-1)
    rounds = [row for row in made.health(tmp_path) if 60_000 - 60 <= row["at"] < 60_000 and row["node"] == "node001"]
    assert {row["health_check"] for row in rounds} == set(ALL)
    assert {row["result"] for row in rounds} == {OK}


@pytest.mark.parametrize("mechanism", [LOST, REBOOT])
def test_a_silent_node_says_nothing(tmp_path: Path, mechanism: int) -> None:
    made = Handmade(site(habits=EACH))
    at, cleared = 30_000, 90_000
    # A reboot ends when Slurm notices it. A lost node answers shortly before its return.
    until = at + 150 if mechanism == REBOOT else cleared - 110
    made.breaks(0, at=at, cleared=cleared, mechanism=mechanism, detected=at + 150, checks_from=-1, symptoms=Symptoms())
    made.job([0, 1], start=at - 100, end=at + 100)
    made.job([0], start=at + 120, end=at + 130)
    rows = made.health(tmp_path)
    assert not [row for row in rows if row["node"] == "node001" and at <= row["at"] < until]
    assert [row for row in rows if row["node"] == "node001" and until <= row["at"] < until + PERIOD]
    assert [row for row in rows if row["node"] == "node002" and row["type"] == "epilog"]


def test_a_failing_check_falls_silent_with_its_node(tmp_path: Path) -> None:
    made = Handmade(site())
    made.breaks(0, at=10_000, cleared=90_000, mechanism=DRAIN)
    made.breaks(0, at=30_000, cleared=90_000, mechanism=LOST, checks_from=-1, symptoms=Symptoms())
    failing = [row["at"] for row in made.health(tmp_path) if row["result"] == CRITICAL]
    assert 30_000 - PERIOD <= max(failing) < 30_000


@pytest.mark.parametrize("habits", [EACH, SPARSE])
def test_an_alarm_fails_and_passes_again(tmp_path: Path, habits: dict[str, float]) -> None:
    made = Handmade(site(node_count=8, habits=habits))
    rng = np.random.default_rng(3)
    for node in range(8):
        symptoms = show_alarm(rng, node)
        made.breaks(
            node, at=40_000, checks_from=40_000, cleared=40_000 + 2 * PERIOD, mechanism=ALARM, symptoms=symptoms
        )
    rows = made.health(tmp_path)
    for node, symptoms in enumerate(made.ledger.symptoms):
        ((check, message),) = symptoms.checks
        seen = [row for row in rows if row["node"] == f"node{node + 1:03d}" and row["health_check"] == check]
        failing = [row for row in seen if row["result"] != OK]
        assert [(row["result"], row["_msg"], row["type"]) for row in failing] == 2 * [(CRITICAL, message, "nagios")]
        assert all(40_000 <= row["at"] < 40_000 + 2 * PERIOD + 1 for row in failing)
        after = next(row for row in seen if row["at"] > failing[-1]["at"])
        assert after["result"] == OK
        assert int(after["at"]) == int(failing[-1]["at"]) + PERIOD
        if habits == EACH:
            assert [int(row["at"]) for row in seen] == list(range(int(seen[0]["at"]), made.profile.horizon, PERIOD))
    assert sum(row["result"] == CRITICAL for row in rows) == 16


def test_a_check_has_no_result_before_it_is_introduced(tmp_path: Path) -> None:
    check, symptoms = "mounted directory", Symptoms(checks=[("mounted directory", "Directory /checkpoint: lost.")])
    made = Handmade(site(days=4, checks_introduced=((check, 2),)))
    for at in (20_000, 20_000 + 2 * DAY):
        made.breaks(0, at=at, cleared=at + HOUR, symptoms=symptoms, mechanism=CRASH, epilog_job=5)
        made.breaks(1, at=at, cleared=at + HOUR, symptoms=symptoms, mechanism=ALARM)
        made.outage(2, start=at, end=at + HOUR)
        made.job([1, 2], start=at - HOUR, end=at - 5)
    made.breaks(2, at=2 * DAY - HOUR, cleared=2 * DAY + HOUR, symptoms=symptoms, mechanism=CRASH)
    rows = made.health(tmp_path)
    seen = [row for row in rows if row["health_check"] == check]
    assert min(row["at"] for row in seen) >= 2 * DAY
    assert {(row["type"], row["result"]) for row in seen} == {
        ("nagios", OK),
        ("nagios", CRITICAL),
        ("prolog", OK),
        ("epilog", CRITICAL),
    }
    others = [row for row in rows if row["at"] < 2 * DAY]
    assert {row["health_check"] for row in others} == set(ALL) - {check}


@pytest.mark.parametrize("kept", [1.0, 0.0])
def test_jobs_are_checked_on_each_node_and_bad_results_always_kept(tmp_path: Path, kept: float) -> None:
    made = Handmade(site(habits={"job_check_share": kept}))
    job = made.job([0, 2], start=7_000, end=9_000, app_xid=31)
    made.job([1], start=7_000, end=7_000)  # never ran
    open_job = made.job([1], start=250_000, end=-1)
    rows = [row for row in made.health(tmp_path) if row["job_id"]]
    good = [
        (job, "epilog", "node003", 9_000, OK),
        (job, "prolog", "node001", 7_000, OK),
        (job, "prolog", "node003", 7_000, OK),
        (open_job, "prolog", "node002", 250_000, OK),
    ]
    expected = [(job, "epilog", "node001", 9_000, WARN), *(good if kept else [])]
    assert sorted((r["job_id"], r["type"], r["node"], int(r["at"]), r["result"]) for r in rows) == expected


def test_spans_cover_what_they_say() -> None:
    rng = np.random.default_rng(4)
    places, times = (grid.ravel() for grid in np.meshgrid(np.arange(4), np.arange(60)))
    for _ in range(50):
        drawn = (rng.integers(0, high, int(rng.integers(0, 8))).tolist() for high in (3, 40, 12))
        spans = [(place, low, low + length) for place, low, length in zip(*drawn, strict=False)]
        wanted = [
            any(place == where and low <= time < high for where, low, high in spans)
            for place, time in zip(places.tolist(), times.tolist(), strict=True)
        ]
        assert Spans(spans).cover(places, times).tolist() == wanted
