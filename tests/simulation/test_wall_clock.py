"""Local time of whole columns equals that of the standard library row by row, around every change of the clocks."""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from assets.simulation.logs.wall_clock import WallClock

DAY = 86_400
ZONES = ["America/Los_Angeles", "Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Asia/Kathmandu", "UTC"]


@pytest.fixture(params=ZONES)
def zone(request: pytest.FixtureRequest) -> ZoneInfo:
    return ZoneInfo(request.param)


def test_texts_and_days_agree_with_the_standard_library_for_a_year(zone: ZoneInfo) -> None:
    first = date(2026, 1, 5)
    clock = WallClock(zone, first, 365)
    # 599 is prime: every second of the minute and every minute of the hour comes up.
    seconds = np.arange(-5 * DAY, 366 * DAY, 599, dtype=np.int32)
    expected = [datetime.fromtimestamp(clock.epoch + second, zone) for second in seconds.tolist()]
    assert len({at.utcoffset() for at in expected}) == (1 if zone.key in ("UTC", "Asia/Kathmandu") else 2)
    assert clock.texts(seconds) == [f"{at:%Y-%m-%dT%H:%M:%S}" for at in expected]
    assert clock.days(seconds).tolist() == [(at.date() - first).days for at in expected]
    assert [clock.date(day) for day in (0, 31)] == ["2026-01-05", "2026-02-05"]


@pytest.mark.parametrize("day", [(2026, 3, 8), (2026, 11, 1)])
def test_every_second_of_a_change_is_exact(day: tuple[int, int, int]) -> None:
    zone = ZoneInfo("America/Los_Angeles")
    clock = WallClock(zone, date(2026, 1, 5), 334)
    change = int(datetime(*day, 8, tzinfo=ZoneInfo("UTC")).timestamp()) - clock.epoch
    seconds = np.arange(change, change + 3 * 3600)
    expected = [datetime.fromtimestamp(clock.epoch + second, zone) for second in seconds.tolist()]
    assert len({at.utcoffset() for at in expected}) == 2
    assert clock.texts(seconds) == [f"{at:%Y-%m-%dT%H:%M:%S}" for at in expected]
    assert clock.texts_with_milliseconds(seconds, seconds % 1000) == [
        f"{at:%Y-%m-%dT%H:%M:%S}.{second % 1000:03d}" for at, second in zip(expected, seconds.tolist(), strict=True)
    ]


def test_times_far_away_are_refused() -> None:
    clock = WallClock(ZoneInfo("UTC"), date(2026, 1, 5), 10)
    with pytest.raises(ValueError, match="400 days"):
        clock.texts(np.array([0, 411 * DAY]))
    assert clock.texts(np.zeros(0, np.int32)) == []
