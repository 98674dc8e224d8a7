"""Running the simulation: same seed, same bytes; labelled; real logs untouched; nothing shared with the pipeline."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from assets.simulation import simulate
from assets.simulation.clusters import read_cluster
from tests.simulation.simulated import Simulated, content


def test_same_seed_gives_same_bytes(make: Callable[..., Simulated]) -> None:
    first, second, other = make(days=2, seed=3), make(days=2, seed=3), make(days=2, seed=4)
    assert content(first.summary.sources) == content(second.summary.sources)
    assert content(first.summary.truth) == content(second.summary.truth)
    assert content(first.summary.sources) != content(other.summary.sources)


MOMENTS = {
    "an ordinary day": ("2026-11-29T14:41+00:00", "2026-11-29", "2026-11-29"),
    "night in one zone": ("2026-11-29T23:30+00:00", "2026-11-29", "2026-11-30"),
    "the clocks change in the last days": ("2026-04-05T07:30+00:00", "2026-04-04", "2026-04-05"),
}


@pytest.mark.parametrize(("now", "llm", "vision"), MOMENTS.values(), ids=MOMENTS)
def test_logs_that_end_at_a_time_end_at_the_last_midnight_of_each_zone(
    now: str, llm: str, vision: str, tmp_path: Path
) -> None:
    moved = simulate("demo", tmp_path / "moved", days=60, scale=0.1, until=datetime.fromisoformat(now)).clusters
    ledgers = simulate("demo", tmp_path / "own", days=60, scale=0.1).clusters
    for made, own, end in zip(moved, ledgers, (llm, vision), strict=True):
        fixed = tmp_path / end
        simulate("demo", fixed, days=60, scale=0.1, until=date.fromisoformat(end))
        assert content(made.sources) == content(fixed / "sources" / made.cluster_id)
        assert made.planted == own.planted
        ends = [pq.read_table(c.truth / "attempts.parquet")["ended_epoch"].to_numpy() for c in (made, own)]
        assert len({*(ends[0] - ends[1])[~np.isnan(ends[0])]}) == 1, "the same ledger on another day"
        assert np.nanmax(ends[0]) <= datetime.fromisoformat(now).timestamp()
        newest = max((made.sources / "sacct").iterdir()).stem.removeprefix("sacct-")
        assert timedelta(days=0) <= date.fromisoformat(end) - date.fromisoformat(newest) <= timedelta(days=1)


def test_simulating_again_replaces_the_earlier_one(make: Callable[..., Simulated], tmp_path: Path) -> None:
    make(out=tmp_path, days=3, seed=1)
    again = make(out=tmp_path, days=1, seed=1)
    assert len(list((again.summary.sources / "health").iterdir())) == 2  # one local day touches two UTC days
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sources", "truth"]
    for folder in ("sources", "truth"):
        assert sorted(path.name for path in (tmp_path / folder).iterdir()) == ["demo-llm", "demo-vision"]


def test_labelled_simulated(tmp_path: Path) -> None:
    zones = {"demo-llm": "America/Los_Angeles", "demo-vision": "Europe/Berlin"}
    for cluster in simulate("demo", tmp_path, days=1, scale=0.25).clusters:
        settings = tomllib.loads((cluster.sources / "cluster.toml").read_text(encoding="utf-8"))
        assert settings["simulated"] is True
        assert settings["timezone"] == zones.pop(cluster.cluster_id)
        assert cluster.planted["simulated"] is True
    assert not zones


def test_folders_can_be_chosen(tmp_path: Path) -> None:
    made = simulate("demo", tmp_path, days=1, scale=0.25, sources_dir=tmp_path / "logs", truth_dir=tmp_path / "answers")
    assert [cluster.cluster_id for cluster in made.clusters] == ["demo-llm", "demo-vision"]
    for cluster in made.clusters:
        assert cluster.sources == tmp_path / "logs" / cluster.cluster_id
        assert cluster.truth == tmp_path / "answers" / cluster.cluster_id
        assert (cluster.truth / "planted.json").is_file()
        assert (cluster.sources / "cluster.toml").is_file()
        assert not list(cluster.sources.rglob("*.parquet"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers", "logs"]


@pytest.mark.parametrize("settings", [None, 'timezone = "UTC"\n'])
@pytest.mark.parametrize("cluster", ["demo-llm", "demo-vision"])
def test_real_logs_are_never_touched(tmp_path: Path, settings: str | None, cluster: str) -> None:
    folder = tmp_path / "sources" / cluster / "sacct"
    folder.mkdir(parents=True)
    (folder / "real.psv").write_text("real")
    if settings:
        (folder.parent / "cluster.toml").write_text(settings)
    with pytest.raises(FileExistsError, match=f"{cluster} holds something that is not a simulated cluster"):
        simulate("demo", tmp_path, days=1)
    assert (folder / "real.psv").read_text() == "real"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"profile": "rsc9"}, "unknown profile 'rsc9'; there are: .*demo"),
        ({"days": 0}, "at least 1"),
        ({"scale": 0.0}, "above 0"),
        ({"seed": -1}, "not be negative"),
        ({"dirt": 0.9}, "from 0 to 0.5"),
    ],
)
def test_wrong_arguments_are_refused_with_a_reason(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        simulate(out=tmp_path, **{"profile": "demo", "days": 1} | options)
    assert not list(tmp_path.iterdir())


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> str:
    """Give the name of a profile that stands for two clusters."""
    north = replace(read_cluster("demo-llm"), cluster_id="north", node_count=16, days=2)
    south = replace(north, cluster_id="south", timezone="Europe/Berlin", node_count=8)
    profiles = {"pair": (north, south), "alone": (south,)}
    monkeypatch.setattr("assets.simulation.run.read_profile", profiles.__getitem__)
    return "pair"


def test_a_profile_may_stand_for_several_clusters(pair: str, tmp_path: Path) -> None:
    summary = simulate(pair, tmp_path, seed=5)
    assert [cluster.cluster_id for cluster in summary.clusters] == ["north", "south"]
    for cluster in summary.clusters:
        assert cluster.sources == tmp_path / "sources" / cluster.cluster_id
        assert json.loads((cluster.truth / "planted.json").read_text(encoding="utf-8")) == cluster.planted
        assert str(cluster.sources) in summary.text()
    values = summary.as_dict()
    assert (values["profile"], [cluster["cluster_id"] for cluster in values["clusters"]]) == (
        "pair",
        ["north", "south"],
    )
    assert values["seconds"] >= max(cluster["seconds"] for cluster in values["clusters"])


@pytest.mark.parametrize("processors", [1, 2])
def test_a_clusters_bytes_do_not_depend_on_its_neighbours(
    pair: str, processors: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    together = simulate(pair, tmp_path / "together", seed=5).clusters
    alone = simulate("alone", tmp_path / "alone", seed=5).clusters[0]
    assert content(together[1].sources) == content(alone.sources)
    assert content(together[1].truth) == content(alone.truth)
    assert together[0].planted["attempt_count"] != together[1].planted["attempt_count"]


def test_real_logs_of_any_cluster_stop_all_work(pair: str, tmp_path: Path) -> None:
    real = tmp_path / "sources" / "south" / "sacct" / "real.psv"
    real.parent.mkdir(parents=True)
    real.write_text("real")
    with pytest.raises(FileExistsError, match="south"):
        simulate(pair, tmp_path)
    assert not (tmp_path / "sources" / "north").exists()
    assert real.read_text() == "real"


@pytest.mark.parametrize("processors", [1, 2])
def test_progress_covers_all_clusters(
    pair: str, processors: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: processors)
    shares: list[float] = []
    simulate(pair, tmp_path, progress=shares.append)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0
    assert any(0.05 < share < 0.3 for share in shares) and any(0.7 < share < 0.95 for share in shares)


def test_a_larger_cluster_has_more_nodes_and_more_work(make: Callable[..., Simulated]) -> None:
    small, large = make(days=2, scale=0.5).summary.planted, make(days=2, scale=2.0).summary.planted
    assert (small["node_count"], large["node_count"]) == (32, 128)
    assert large["attempt_count"] > 2 * small["attempt_count"]
