"""Local times of whole columns equal those of the standard library, around every change of the clocks."""

from __future__ import annotations

from datetime import date, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from assets.simulation.logs.record import WallClock

DAY, FIRST_DAY = 86_400, date(2026, 1, 5)
CHANGES = np.concatenate([np.arange(day * DAY, day * DAY + 4 * 3600) for day in (62, 300)])
"""Every second of the nights with a change of the clocks in Los Angeles."""


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Europe/Berlin", "Australia/Lord_Howe", "Asia/Kathmandu"])
def test_texts_and_days_agree_with_the_standard_library_for_a_year(zone: str) -> None:
    clock = WallClock(ZoneInfo(zone), FIRST_DAY)
    # 599 is prime, so the times have every second of the minute and every minute of the hour.
    seconds = np.concatenate([np.arange(-5 * DAY, 366 * DAY, 599), CHANGES])
    expected = [datetime.fromtimestamp(clock.epoch + second, ZoneInfo(zone)) for second in seconds.tolist()]
    assert len({at.utcoffset() for at in expected}) == (1 if zone == "Asia/Kathmandu" else 2)
    texts = [f"{at:%Y-%m-%dT%H:%M:%S}" for at in expected]
    assert clock.texts(seconds) == texts
    with_milliseconds = [f"{text}.{second % 1000:03d}" for text, second in zip(texts, seconds.tolist(), strict=True)]
    assert clock.texts_with_milliseconds(seconds, seconds % 1000) == with_milliseconds
    assert clock.days(seconds).tolist() == [(at.date() - FIRST_DAY).days for at in expected]
    assert clock.date(31) == "2026-02-05" and clock.texts(np.zeros(0, np.int32)) == []
