"""Holding simulated clusters against the paper: every computation by hand, then a part and the whole of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from tests.calibration.judging import observe, row
from tests.calibration.paper import DAYS, PAPERS, ROOT_CAUSES
from tests.calibration.table import summary

from assets.simulation import simulate
from assets.simulation.clusters import read_cluster
from assets.simulation.profiles import DAY, HOUR, Lemon
from assets.simulation.states import (
    COMPLETED,
    EVICT,
    NODE_FAIL,
)
from tests.calibration import Observed, calibrate, compare, render, total
from tests.calibration.__main__ import main
from tests.calibration.simulated import (
    calibrate_clusters,
    calibrate_profile,
    simulate_profile,
)
from tests.simulation.simulated import Simulated
from tests.simulation.small_ledger import SmallLedger, site

DEMO_LLM = read_cluster("demo-llm")
SMALL = {name: replace(DEMO_LLM, cluster_id=name, node_count=8, days=3) for name in ("rsc1", "rsc2")}


def two_clusters() -> tuple[Observed, Observed]:
    """Give a large cluster with many failures and a small one with few and more jobs of one GPU."""
    seen = []
    for cluster, gpus, failures, singles in (("rsc1", 4096, 3, 1), ("rsc2", 256, 1, 3)):
        made = SmallLedger()
        run = made.run(gpus=gpus)
        nodes = tuple(range(gpus // 8))
        for number in range(4):
            start = number * DAY
            attempt = made.attempt(run, start, start + HOUR, NODE_FAIL if number < failures else COMPLETED, nodes=nodes)
            if number < failures:
                made.failed(attempt, made.fault(0, start + HOUR - 60, EVICT))
        for _ in range(singles):
            made.attempt(made.run(gpus=1), 0, HOUR)
        causes = ("GPU", "optics") if cluster == "rsc1" else ("GPU", "PSU")
        lemons = tuple(Lemon(number / 4, cause, 0.1) for number, cause in enumerate(causes))
        seen.append(observe(made, cluster_id=cluster, lemons=lemons))
    return seen[0], seen[1]


def test_the_clusters_against_each_other() -> None:
    first, second = map(total, two_clusters())
    rows = compare(first, second)
    assert row(rows, "jobs").value == 5 + 7
    assert row(rows, "GPU-hours").value == pytest.approx(4 * 4096 + 1 + 4 * 256 + 3)
    rates = 3 / (4 * 4096 + 1), 1 / (4 * 256 + 3)
    assert row(rows, "failures with a cause per GPU-hour, how much lower").value == pytest.approx(rates[0] / rates[1])
    assert row(rows, "jobs of 1 GPU, difference").value == pytest.approx(100 * (3 / 7 - 1 / 5))
    assert row(rows, "attempts failed by infrastructure, difference").value == pytest.approx(100 * (1 / 7 - 3 / 5))
    assert row(rows, "lost goodput, how much less").value == pytest.approx(3 * 4096 / 256)
    assert row(rows, "size that loses most goodput").value == 256
    assert row(rows, "largest difference of a state's share").value == pytest.approx(100 * (6 / 7 - 2 / 5))
    found = {cause: row(rows, f"lemons by root cause: {cause}").value for cause in ROOT_CAUSES}
    assert found == dict.fromkeys(ROOT_CAUSES, 0) | {"GPU": 2, "PSU": 1, "Optics": 1}
    assert sum(ROOT_CAUSES.values()) == 39


def test_each_cluster_has_every_value_the_paper_gives_of_it() -> None:
    first, second = two_clusters()
    figures = {
        seen.profile.cluster_id: Counter(row.figure for row in calibrate(seen.profile, seen.ledger))
        for seen in (first, second)
    }
    assert figures["rsc1"] == {"": 10, "3": 11, "4": 6, "5": 6, "6": 6, "7": 1, "8": 4, "9": 1, "11": 5}
    assert figures["rsc2"] == {"": 10, "3": 1, "4": 4, "6": 1, "7": 1, "11": 2}


def test_the_paper_has_no_other_cluster() -> None:
    with pytest.raises(ValueError, match="no cluster 'demo-llm'; it has: rsc1, rsc2"):
        calibrate(DEMO_LLM, SmallLedger().frozen())


def test_an_empty_cluster_has_all_rows_and_nothing_inside_by_accident() -> None:
    rows = calibrate(site(node_count=2000, days=DAYS), SmallLedger().frozen())
    shown = {row.quantity for row in rows if row.is_judged and row.is_inside}
    assert shown == {"nodes", "GPUs", "GPUs per node", "period", "longest attempt", "time between health checks"}


def test_the_values_are_those_of_the_logs(tmp_path: Path) -> None:
    demo = Simulated(simulate(DEMO_LLM, tmp_path, days=14, seed=2).clusters[0])
    profile = DEMO_LLM.resized(14, 1.0)
    ledger = simulate_profile(profile, 2)
    seen = Observed(replace(profile, cluster_id="rsc1"), ledger)
    ended = [row for row in demo.attempts() if row["state"] not in ("RUNNING", "PENDING")]
    states = Counter(row["state"] for row in ended)
    rows = calibrate(seen.profile, ledger)
    for name in PAPERS["rsc1"].states:
        assert row(rows, f"attempts {name}").value == pytest.approx(100 * states[name] / len(ended))
    held = [(row["gpus"], row["End"] - row["Start"]) for row in ended if row["Start"]]
    assert row(rows, "GPU time of jobs of 256 GPUs and more").value == pytest.approx(
        100 * sum(gpus * time for gpus, time in held if gpus >= 256) / sum(gpus * time for gpus, time in held)
    )
    shown = [failure for failure in demo.truth("failures") if failure["visible_category"]]
    own = ~seen.failures.is_chance
    assert Counter(seen.failures.category[own].tolist()) == Counter(row["visible_category"] for row in shown)
    assert len(shown) > 10


def test_the_page_names_its_command_and_every_row() -> None:
    first, second = two_clusters()
    rows = calibrate(first.profile, first.ledger) + compare(total(first), total(second))
    page = render(rows, "the command")
    assert "`the command`" in page
    table = [line for line in page.splitlines() if line.startswith("|")]
    assert len(table) == len(rows) + 2
    assert len({line.count("|") for line in table}) == 1
    judged = sum(row.is_judged for row in rows)
    assert f"of {judged} rows are inside" in page and f"{len(rows) - judged} rows that only the whole" in page
    assert "| 9 | ETTR of runs of 24 h and more, top priority, 2,048 to 4,096 GPUs | rsc1 | > 0.9 | none |" in page
    whole = calibrate(site(node_count=2000, days=DAYS), SmallLedger().frozen())
    assert "only the whole" not in summary(whole)


@pytest.fixture
def small_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put two small clusters in the place of the paper's."""
    monkeypatch.setattr("tests.calibration.simulated.read_cluster", SMALL.__getitem__)


@pytest.mark.usefixtures("small_clusters")
def test_the_command_simulates_both_and_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "calibration.md"
    assert main(["--days", "2", "--seed", "3", "--write", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "--days 2 --seed 3" in text and "simulating: rsc1 " in capsys.readouterr().err
    alone = [calibrate_profile(SMALL[name].resized(2, 1.0), 3) for name in ("rsc1", "rsc2")]
    rows = alone[0].rows + alone[1].rows + compare(alone[0].totals, alone[1].totals)
    assert render(rows, "x").splitlines()[-len(rows) :] == text.splitlines()[-len(rows) :]


PART_DIFFERS: dict[str, dict[str, tuple[float, float]]] = {
    "rsc1": {
        # Half of all preemptions make room for jobs of 1,024 GPUs and more, and 250 nodes have none of these;
        # what is not preempted ends in other ways, in the paper's proportions.
        "attempts PREEMPTED": (3.0, 9.0),
        "attempts COMPLETED": (61.0, 65.0),
        "attempts FAILED": (23.5, 26.5),
        # The crash loop is later, and the three lemons of the part (GPU, PCIe, EUD) fail with a trace each time;
        # of the whole's a third, with DIMM, BIOS or PSU, mostly do not.
        "failures without a cause": (0.0, 10.0),
    },
    "rsc2": {},
}
"""Limits of quantities that an eighth of the nodes over 40 days must show otherwise than the whole."""


@pytest.mark.parametrize("cluster", [pytest.param("rsc1", marks=pytest.mark.slow), "rsc2"])
def test_a_part_of_the_clusters_is_like_the_paper(cluster: str) -> None:
    rows = calibrate_profile(read_cluster(cluster).resized(40, 1 / 8), 1).rows
    differs = PART_DIFFERS[cluster]
    outside = []
    for found in rows:
        low, high = differs.get(found.quantity, (found.band.low, found.band.high))
        if found.is_judged and not low <= found.value <= high:
            outside.append((found.quantity, found.value, low, high))
    assert not outside
    assert sum(found.is_judged for found in rows) >= 10
    assert set(differs) <= {found.quantity for found in rows if found.is_judged}


KNOWN_OUTSIDE = {("3", "their GPU time", "rsc1"): pytest.approx(17.9, abs=0.05)}
"""What the page says is outside: 17.9% of GPU time instead of 18.2 to 19.2; runs of other seeds lie on both sides."""


@pytest.mark.slow
def test_the_whole_clusters_are_like_the_paper() -> None:
    rows = calibrate_clusters(1.0, None, 1)
    assert all(found.is_judged for found in rows)
    outside = {(found.figure, found.quantity, found.cluster): found.value for found in rows if not found.is_inside}
    assert outside == KNOWN_OUTSIDE
