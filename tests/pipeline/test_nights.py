"""Published tables depend only on the bytes read: after an awkward history, every row equals `refresh --full`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.soak import Soak


@pytest.mark.slow
def test_nights_with_kills_publish_what_a_calm_home_does_whatever_threads_and_memory_it_has(tmp_path: Path) -> None:
    soak = Soak(tmp_path, seed=1)
    soak.events = [None, "killed"]
    for night in range(4):
        soak.night(is_last=night == 3)
    tables, different = soak.end()
    assert different == []
    assert sum(1 for rows in tables.values() if rows) > 55, "tables that hold nothing compare nothing"
