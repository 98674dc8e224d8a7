"""Accounting that comes late fills its gap: what is published is what a load of everything publishes."""

from __future__ import annotations

from pathlib import Path

import pytest

from orchestration.home import Home
from tests.conftest import refresh
from tests.homes import ask
from tests.minimal.test_accounting_gaps import by_day, daily
from tests.published import compare, facts_of

pytestmark = pytest.mark.slow


def gap_count(home: Home) -> int:
    """Count the gaps that are published."""
    return ask(home, "select count(*) from marts.dim_study_gaps")[0][0]


def test_late_days_bring_everything_back(tmp_path: Path) -> None:
    late, whole = Home.at(tmp_path / "late"), Home.at(tmp_path / "whole")
    daily(by_day).write(late.sources / "c")
    refresh(late)
    assert gap_count(late) == 1
    for home in (late, whole):
        daily(by_day, range(24)).write(home.sources / "c")
        refresh(home)
    assert gap_count(late) == 0
    compare(facts_of(late.published_file), facts_of(whole.published_file))
