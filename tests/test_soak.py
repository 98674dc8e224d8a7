"""The soak deals out everything that goes wrong, the same way for the same seed, and files come by the last night."""

from collections import Counter
from datetime import date, timedelta
from random import Random

from orchestration.settings.home import Home
from tests.soak import EVENTS, NIGHTS, Soak, deal


def test_every_event_comes_and_has_a_night_of_its_own():
    plan = deal(NIGHTS, 1, Random(1))
    late = Counter(event for night, event in plan.items() if night >= NIGHTS / 3)
    assert late == Counter(EVENTS)
    assert {event for night, event in plan.items() if night < NIGHTS / 3} == {"kill", "double"}
    assert plan == deal(NIGHTS, 1, Random(1))
    assert all(0 < night < NIGHTS for night in plan)


def test_events_come_in_nights_that_are_refreshed():
    assert all(night % 4 == 0 for night in deal(NIGHTS, 4, Random(2)))


def test_every_file_comes_some_of_them_late(tmp_path):
    for day in range(NIGHTS + 1):
        path = tmp_path / "logs" / "one" / "sacct" / f"{date(2026, 1, 1) + timedelta(days=day)}.psv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    soak = Soak(Home.at(tmp_path), tmp_path / "logs", NIGHTS, 1, None, Random(1), tmp_path / "log.jsonl")
    due = [night for _, night in sorted(soak.due().items())]
    assert due[0] == 0
    assert max(due) == NIGHTS
    late = [night - day for day, night in enumerate(due) if night != day]
    assert 2 <= len(late) <= 15
    assert all(0 < nights <= 20 for nights in late)
