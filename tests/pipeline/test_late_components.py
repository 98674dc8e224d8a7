"""A component of a heterogeneous job whose records come late, or change, changes the size of the other one too."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from orchestration.home import Home
from tests.conftest import refresh
from tests.logs import Cluster, at
from tests.published import compare, content_of

pytestmark = pytest.mark.slow


def first_component() -> Cluster:
    """Component 23+0, 96 GPUs, requeued after a day, among other jobs."""
    cluster = Cluster().inventory("n[1-20]")
    for number in range(30):
        cluster.job(100 + number, "n1", at(days=3 + number), at(days=3 + number, hours=6))
    cluster.job("23+0", "n[1-12]", at(0), at(days=1), "REQUEUED", JobIDRaw="23")
    return cluster.job("23+0", "n[1-12]", at(days=1), at(days=2), JobIDRaw="23")


def second_component(nodes: str) -> Cluster:
    """Component 23+1 of the same two attempts."""
    cluster = Cluster().job("23+1", nodes, at(0), at(days=1), "REQUEUED", JobIDRaw="24")
    return cluster.job("23+1", nodes, at(days=1), at(days=2), JobIDRaw="24")


def sizes_of(home: Home) -> list[tuple[int, ...]]:
    """Read the sizes of the first component: those of its attempts, then that of its run."""
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        return con.execute(
            """
            select job_gpu_count, gpu_size_bin from marts.fct_attempts where job_id = '23+0'
            union all
            select job_gpu_count, null from marts.fct_restarted_runs where gpu_count = 96
            """
        ).fetchall()


def test_a_component_that_comes_later_renews_its_siblings(tmp_path: Path) -> None:
    home = Home.at(tmp_path / "home")
    folder = home.sources / "c"
    first_component().write(folder)
    refresh(home)
    assert sizes_of(home) == [(96, 128), (96, 128), (96, None)]
    file = home.build_file.stat().st_ino
    # A night later its records are there; another night later they tell of other nodes.
    for night, nodes, gpus, size in ((1, "n[13-20]", 160, 256), (2, "n[13-16]", 128, 128)):
        second_component(nodes).write(tmp_path / "late")
        shutil.copy(tmp_path / "late" / "sacct" / "sacct.psv", folder / "sacct" / "late.psv")
        refresh(home)
        assert home.build_file.stat().st_ino == file, "everything was built anew"
        assert sizes_of(home) == [(gpus, size), (gpus, size), (gpus, None)]
        fresh = Home.at(tmp_path / f"fresh-{night}")
        shutil.copytree(home.sources, fresh.sources)
        refresh(fresh)
        compare(content_of(home.published_file), content_of(fresh.published_file))
