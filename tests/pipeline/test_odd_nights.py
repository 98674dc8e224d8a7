"""Clusters with an odd line in every kind of log: none is stale or left out, and each has its own numbers."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import duckdb
import pytest

from orchestration.home import Home
from tests.conftest import CAPTURE, refresh
from tests.sources.fuzzing import mutate
from tests.sources.variants import files, parts, write

pytestmark = pytest.mark.slow

CLUSTERS = 24
ODD_LINES = 1
"""In each file: one odd line is tolerated, however short the file is."""
KINDS = ("sacct", "health", "kernel", "events", "slurmctld", "inventory", "squeue")


def spoil(cluster: Path, rng: Random) -> list[str]:
    """Put a changed copy of a line between the lines of each file, and return the copies."""
    odd = []
    for path in files(cluster, *KINDS):
        header, lines = parts(path)
        for _ in range(ODD_LINES):
            line = rng.choice(lines).rstrip("\n")
            for _ in range(rng.choice((1, 1, 2, 4))):
                line = mutate(line, rng.choice(lines).rstrip("\n"), rng)
            line = line.replace("\n", " ")
            lines.insert(rng.randrange(len(lines)), f"{line}\n")
            odd.append(f"{path.name}: {line}")
        write(path, header + lines, path)
    return odd


@pytest.fixture(scope="module")
def spoiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Home, dict[str, list[str]]]:
    """A home of copies of the capture, each with odd lines of its own, refreshed; and the lines."""
    home = Home.at(tmp_path_factory.mktemp("odd") / "home")
    odd = {}
    for seed in range(CLUSTERS):
        name = f"odd{seed:02d}"
        shutil.copytree(CAPTURE, home.sources / name)
        odd[name] = spoil(home.sources / name, Random(name))
    refresh(home)
    return home, odd


def test_no_cluster_is_stale_or_left_out(spoiled: tuple[Home, dict[str, list[str]]]) -> None:
    home, odd = spoiled
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        failures = dict(con.execute("select cluster_id, reason from ops.cluster_failures").fetchall())
        attempts = dict(con.execute("select cluster_id, count(*) from marts.fct_attempts group by 1").fetchall())
        lines = con.execute(
            "select path, lines_in from ops.files where lines_in <> loaded + skipped + quarantined"
        ).fetchall()
    assert not failures, [(name, reason, odd.get(name)) for name, reason in failures.items()]
    assert attempts.keys() == odd.keys()
    assert all(98 <= count <= 106 for count in attempts.values()), attempts
    assert lines == []
