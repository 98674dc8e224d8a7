"""Running the simulation: same seed, same bytes; labelled; real logs untouched; nothing shared with the pipeline."""

from __future__ import annotations

import ast
import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from assets import simulation
from assets.simulation import simulate
from tests.simulation.simulated import Simulated


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_same_seed_gives_same_bytes(make: Callable[..., Simulated]) -> None:
    first, second, other = make(days=2, seed=3), make(days=2, seed=3), make(days=2, seed=4)
    assert content(first.summary.sources) == content(second.summary.sources)
    assert content(first.summary.truth) == content(second.summary.truth)
    assert content(first.summary.sources) != content(other.summary.sources)


def test_simulating_again_replaces_the_earlier_one(make: Callable[..., Simulated], tmp_path: Path) -> None:
    make(out=tmp_path, days=3, seed=1)
    again = make(out=tmp_path, days=1, seed=1)
    assert len(list((again.summary.sources / "health").iterdir())) == 2  # one local day touches two UTC days
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sources", "truth"]
    assert [path.name for path in (tmp_path / "truth").iterdir()] == ["demo"]


def test_labelled_simulated(demo: Simulated) -> None:
    settings = tomllib.loads((demo.summary.sources / "cluster.toml").read_text(encoding="utf-8"))
    assert settings["simulated"] is True
    assert settings["timezone"] == "America/Los_Angeles"
    assert demo.summary.planted["simulated"] is True


def test_folders_can_be_chosen(tmp_path: Path) -> None:
    summary = simulate(
        "demo", tmp_path, days=1, scale=0.25, sources_dir=tmp_path / "logs", truth_dir=tmp_path / "answers"
    )
    assert summary.sources == tmp_path / "logs" / "demo"
    assert (tmp_path / "answers" / "demo" / "planted.json").is_file()
    assert not list(summary.sources.rglob("*.parquet"))


@pytest.mark.parametrize("settings", [None, 'timezone = "UTC"\n'])
def test_real_logs_are_never_touched(tmp_path: Path, settings: str | None) -> None:
    folder = tmp_path / "sources" / "demo" / "sacct"
    folder.mkdir(parents=True)
    (folder / "real.psv").write_text("real")
    if settings:
        (folder.parent / "cluster.toml").write_text(settings)
    with pytest.raises(FileExistsError, match="not a simulated cluster"):
        simulate("demo", tmp_path, days=1)
    assert (folder / "real.psv").read_text() == "real"


@pytest.mark.parametrize(("profile", "days", "scale"), [("rsc9", 1, 1.0), ("demo", 0, 1.0), ("demo", 1, 0.0)])
def test_what_cannot_be_simulated_is_said(tmp_path: Path, profile: str, days: int, scale: float) -> None:
    with pytest.raises(ValueError, match=r"unknown profile|at least 1|above 0"):
        simulate(profile, tmp_path, days=days, scale=scale)


def test_progress_goes_from_nothing_to_all(tmp_path: Path) -> None:
    told: list[float] = []
    simulate("demo", tmp_path, days=1, scale=0.25, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_the_summary_says_simulated_and_where(demo: Simulated) -> None:
    text, values = demo.summary.text(), demo.summary.as_dict()
    assert "(simulated)" in text
    assert str(demo.summary.sources) in text and str(demo.summary.truth) in text
    assert values["planted"] == json.loads((demo.summary.truth / "planted.json").read_text(encoding="utf-8"))


def test_a_larger_cluster_has_more_nodes_and_more_work(make: Callable[..., Simulated]) -> None:
    small, large = make(days=2, scale=0.5).summary.planted, make(days=2, scale=2.0).summary.planted
    assert (small["node_count"], large["node_count"]) == (32, 128)
    assert large["attempt_count"] > 2 * small["attempt_count"]


def test_imports_nothing_of_the_pipeline() -> None:
    allowed = {*sys.stdlib_module_names, "numpy", "pyarrow"}
    for path in Path(simulation.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.split(".")[0] in allowed or name.startswith("assets.simulation"), (
                    f"{path.name} imports {name}"
                )
