"""Where names are hidden, nothing that people or logs wrote is in the report or its summary."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from orchestration.settings.home import Home
from tests.conftest import refresh
from tests.privacy.planted import MARK, PLAIN, names_in, write_planted

pytestmark = pytest.mark.slow

REASONS = (
    f"NHC: check_hw_{MARK}: failed", f"{MARK}", f"HC: {MARK} broke: it", f"[{MARK}] reseated GPU",
    f"maint by {MARK}", f"Xid 79, says {MARK}", f"ib link down, {MARK} looks at it",
)  # fmt: skip


def test_no_planted_name_is_in_the_report_or_its_summary(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "home")
    events = write_planted(home.sources, f'{PLAIN}[report]\nnames = "hidden"\n') / "events" / "events.psv"
    header, *lines = events.read_text(encoding="utf-8").splitlines()
    rows = [dict(zip(header.split("|"), line.split("|"), strict=False)) for line in lines]
    for row, reason in zip([row for row in rows if row["NodeName"]], itertools.cycle(REASONS), strict=False):
        row["Reason"] = reason
    events.write_text("\n".join([header, *("|".join(row.values()) for row in rows)]) + "\n", encoding="utf-8")
    refresh(home)
    assert set(names_in(home.report.read_text(encoding="utf-8"))) <= {f"{MARK}-ticket"}, "ids of tickets may stay"
    assert names_in((home.report.parent / "summary.md").read_text(encoding="utf-8")) == []
