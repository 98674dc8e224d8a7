"""Mutations of good lines cause no crash and no hang. Every line is accounted for, in bounded memory.

Each seed makes a cluster with a file of mutated lines per dialect. One load in a separate process reads them all.
`fixtures/cases/odd_lines.jsonl` keeps the lines that once failed.
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
    """Load mutated lines of all dialects, and check that no line makes a reader raise."""
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
