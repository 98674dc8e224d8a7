"""No file makes the process use more than DuckDB's limit and a gigabyte, however little memory there is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.sources.bombs import BOMBS, MEMORY_MB, SPARE_MB
from tests.sources.folders import PROJECT, make

pytestmark = pytest.mark.slow


def outcome(name: str, folder: Path) -> dict[str, Any]:
    """Load a bomb in a separate process, and return the outcome."""
    make(folder / "sources", BOMBS[name]())
    command = [sys.executable, "-m", "tests.sources.bombs", name, str(folder)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=1800, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The outcome of each bomb."""
    return {name: outcome(name, tmp_path_factory.mktemp(name)) for name in BOMBS}


@pytest.mark.parametrize("name", BOMBS)
def test_memory_is_bounded(name: str, outcomes: dict[str, dict[str, Any]]) -> None:
    assert outcomes[name]["peak"] < MEMORY_MB + SPARE_MB


def test_a_line_that_is_too_long_is_quarantined_and_the_rest_read(outcomes: dict[str, dict[str, Any]]) -> None:
    assert outcomes["long_line"]["quarantined"] == [["c1/sacct/a.txt.zst", "line_too_long", 1]]
    assert outcomes["long_line"]["loaded"] == [["c1/sacct/a.txt.zst", 2]]
    assert {tuple(row) for row in outcomes["plain_lines"]["quarantined"]} == {
        ("c1/sacct/a.txt", "line_too_long", 1), ("c1/kernel/k.log", "line_too_long", 1),
    }  # fmt: skip


def test_many_long_lines_are_read_up_to_a_bound(outcomes: dict[str, dict[str, Any]]) -> None:
    found = {reason: count for _, reason, count in outcomes["delimiters"]["quarantined"]}
    assert found.keys() == {"line_too_long", "field_count"}
    assert sum(found.values()) == 300
    assert found["line_too_long"] > 250
