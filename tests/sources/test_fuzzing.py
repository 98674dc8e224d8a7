"""Mutations of good lines: no crash, no hang, and every line accounted for, whatever a line holds, in bounded memory.

Each seed makes a cluster with a file of mutated lines per dialect; all are read in one load, in a process of its own.
What was found is kept in `fixtures/cases/odd_lines.jsonl`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.sources.bombs import MEMORY_MB, SPARE_MB
from tests.sources.folders import PROJECT


def check(folder: Path, seed: int, count: int, timeout: int) -> None:
    """Load mutated lines of all dialects; nothing may be left to the search for lines that raise."""
    command = [sys.executable, "-m", "tests.sources.fuzzing", str(folder), str(seed), str(count)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["failed"] == []
    assert found["forms"] > 30
    assert found["files"] >= 0.8 * found["forms"], "most files keep their form"
    assert found["fewest_lines"] >= count
    assert found["peak"] < MEMORY_MB + SPARE_MB


def test_a_few_mutations_of_every_dialect(tmp_path: Path) -> None:
    check(tmp_path, 1, 150, timeout=300)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 120))
def test_many_mutations_of_every_dialect(seed: int, tmp_path: Path) -> None:
    check(tmp_path, seed, 10_000, timeout=3600)
