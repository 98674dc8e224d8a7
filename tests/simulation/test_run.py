"""`faultline simulate` and `simulate`: same bytes for a seed, labels, untouched real logs, refusals with a reason."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from assets.simulation import SimulatedCluster, simulate
from assets.simulation.clusters import read_cluster
from orchestration.cli import app
from tests.simulation.simulated import content

SMALL = ("--days", "1", "--scale", "0.25")
DAY = timedelta(days=1)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["simulate", *arguments])


def test_same_seed_gives_same_bytes(tmp_path: Path) -> None:
    for folder, seed in (("first", 3), ("second", 3), ("other", 4)):
        simulate("demo", tmp_path / folder, days=2, scale=0.25, seed=seed)
    assert content(tmp_path / "first") == content(tmp_path / "second") != content(tmp_path / "other")


def test_a_clusters_bytes_do_not_depend_on_its_neighbours_and_progress_covers_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    north = replace(read_cluster("demo-llm"), cluster_id="north", node_count=16, days=2)
    south = replace(north, cluster_id="south", timezone="Europe/Berlin", node_count=8)
    monkeypatch.setattr("assets.simulation.run.read_profile", {"pair": (north, south)}.__getitem__)
    shares: list[float] = []
    summary = simulate("pair", tmp_path / "together", seed=5, progress=shares.append)
    alone = simulate(south, tmp_path / "alone", seed=5).clusters[0]
    assert [cluster.cluster_id for cluster in summary.clusters] == ["north", "south"]
    for part in ("sources", "truth"):
        assert content(getattr(summary.clusters[1], part)) == content(getattr(alone, part))
    assert json.loads((alone.truth / "planted.json").read_text(encoding="utf-8")) == alone.planted
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert any(0.05 < share < 0.3 for share in shares) and any(0.7 < share < 0.95 for share in shares)


MOMENTS = {
    "an ordinary day": ("2026-11-29T14:41+00:00", "2026-11-29", "2026-11-29"),
    "night in one zone": ("2026-11-29T23:30+00:00", "2026-11-29", "2026-11-30"),
    "the clocks change in the last days": ("2026-04-05T07:30+00:00", "2026-04-04", "2026-04-05"),
}


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[SimulatedCluster, ...]:
    """Return the demo clusters with the days of their profiles."""
    return simulate("demo", tmp_path_factory.mktemp("own"), days=30, scale=0.1).clusters


@pytest.mark.slow
@pytest.mark.parametrize(("now", "llm", "vision"), MOMENTS.values(), ids=MOMENTS)
def test_logs_that_end_at_a_time_end_at_the_last_midnight_of_each_zone(
    own: tuple[SimulatedCluster, ...], now: str, llm: str, vision: str, tmp_path: Path
) -> None:
    moment = datetime.fromisoformat(now)
    moved = simulate("demo", tmp_path / "moved", days=30, scale=0.1, until=moment).clusters
    for end in {llm, vision}:
        simulate("demo", tmp_path / end, days=30, scale=0.1, until=date.fromisoformat(end))
    for made, profile, end in zip(moved, own, (llm, vision), strict=True):
        assert content(made.sources) == content(tmp_path / end / "sources" / made.cluster_id)
        assert made.planted == profile.planted
        ends = [pq.read_table(c.truth / "attempts.parquet")["ended_epoch"].to_numpy() for c in (made, profile)]
        assert len({*(ends[0] - ends[1])[~np.isnan(ends[0])]}) == 1, "the same ledger on another day"
        assert np.nanmax(ends[0]) <= moment.timestamp()
        newest = max((made.sources / "sacct").iterdir()).stem.removeprefix("sacct-")
        assert timedelta(days=0) <= date.fromisoformat(end) - date.fromisoformat(newest) <= timedelta(days=1)


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


def test_wrong_arguments_are_refused_with_a_reason(tmp_path: Path) -> None:
    said = {"profile": "unknown .*demo", "days": "at least 1", "scale": "above 0", "seed": "negative", "dirt": "to 0.5"}
    wrong: dict[str, Any] = {"profile": "rsc9", "days": 0, "scale": 0.0, "seed": -1, "dirt": 0.9}
    for name, value in wrong.items():
        with pytest.raises(ValueError, match=said[name]):
            simulate(out=tmp_path, **{"profile": "demo", "days": 1} | {name: value})
    assert not list(tmp_path.iterdir())


def test_it_prints_what_was_made_as_json_and_labels_it_simulated(tmp_path: Path) -> None:
    done = run("demo", "--out", str(tmp_path), *SMALL, "--dirt", "0.01", "--json")
    assert done.exit_code == 0, done.output
    values = json.loads(done.stdout)
    zones = {"demo-llm": "America/Los_Angeles", "demo-vision": "Europe/Berlin"}
    assert (values["profile"], [cluster["cluster_id"] for cluster in values["clusters"]]) == ("demo", list(zones))
    for cluster in values["clusters"]:
        assert Path(cluster["sources"]) == tmp_path / "sources" / cluster["cluster_id"]
        spoiled = pq.read_table(Path(cluster["truth"]) / "dirt.parquet")
        assert len(spoiled) == cluster["spoiled_line_count"] > 0
        settings = tomllib.loads((Path(cluster["sources"]) / "cluster.toml").read_text(encoding="utf-8"))
        assert settings["simulated"] is cluster["planted"]["simulated"] is True
        assert settings["timezone"] == zones[cluster["cluster_id"]]


def test_the_demo_ends_at_the_last_midnight_or_where_it_is_told_and_replaces_an_earlier_one(tmp_path: Path) -> None:
    before = datetime.now(UTC)
    assert run("demo", "--out", str(tmp_path), *SMALL, "--days", "3").exit_code == 0
    for cluster in ("demo-llm", "demo-vision"):
        zone = ZoneInfo(read_cluster(cluster).timezone)
        days = {(at.astimezone(zone) - DAY).date() for at in (before, datetime.now(UTC))}
        newest = max((tmp_path / "sources" / cluster / "sacct").iterdir()).name
        assert newest in {f"sacct-{day - DAY * early}.psv" for day in days for early in (0, 1)}
    # The profile's first day and length give the same date, and other profiles keep their dates.
    simulate("demo", tmp_path / "profile", days=1, scale=0.25)
    assert run("demo", "--out", str(tmp_path), *SMALL, "--until", "2026-01-06").exit_code == 0
    for folder in ("sources", "truth"):
        assert content(tmp_path / folder) == content(tmp_path / "profile" / folder)
    assert run("rsc2", "--out", str(tmp_path), "--days", "1", "--scale", "0.01").exit_code == 0
    assert (tmp_path / "sources" / "rsc2" / "sacct" / f"sacct-{read_cluster('rsc2').first_day}.psv").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["profile", "sources", "truth"]


def test_a_refusal_is_one_line_on_stderr(tmp_path: Path) -> None:
    for arguments in (("rsc9",), ("demo", "--until", "0001-01-01"), ("demo", "--until", "9999-12-31")):
        done = run(*arguments, *SMALL, "--out", str(tmp_path))
        assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert run("demo", "--out", str(tmp_path), "--dirt", "0.9").exit_code == 2
