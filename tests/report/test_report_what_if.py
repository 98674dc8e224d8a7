"""The sliders give the results of `assets/model` over a grid of questions, and their block works in a real browser."""

from __future__ import annotations

import itertools
import json
import math
import shlex
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
from scipy import special
from typer.testing import CliRunner

from assets.model.ettr import expected_ettr_exact
from assets.model.incident_counts import weighted_interval
from assets.model.month_variation import month_variation
from assets.model.mttf import nodes_of
from assets.model.run_plan import assumed_rate
from assets.model.spares import probability_without_spare
from assets.report.addresses import anchor_of
from assets.report.filling import environment
from assets.report.numbers import chance, duration, short
from assets.report.queries import ClusterData
from assets.report.what_if import start_of, what_if, what_if_data, what_if_script, what_if_styles
from orchestration.cli import app
from orchestration.read_commands.plan import answer_at
from orchestration.read_commands.run_to_plan import RunToPlan
from tests.report.browser import browser, opened
from tests.report.clusters import HOSTILE
from tests.report.reading import Element

ROW = {
    "cluster_id": "c", "population": "all", "failure_count": 34.0, "failure_variance": 34.0, "node_days": 1886.8,
    "has_enough_data": True, "note": None, "gpus_per_node": 8, "gpu_count": 512, "gpu_node_count": 64,
    "checkpoint_minutes": 60.0, "restart_minutes": 5.0,
    "write_minutes": 0.0, "planned_days": 30.0, "ettr_target": 0.9, "repair_count": 161, "repair_hours": 5.0,
    "month_failure_counts": [], "month_node_days": [], "recorded_rate": None,
    "largest_job_gpu_count": 256,
}  # fmt: skip


def block(start):
    """The block of a cluster."""
    return str(environment().get_template("whatif.html.j2").module.what_if_of(what_if(start)))


MEASURED = {
    "plain": ROW,
    "in bursts": ROW | {"failure_count": 105.99, "failure_variance": 159.96, "node_days": 5373.2},
    "in unlike months": ROW | {"month_failure_counts": [2.0, 25.0, 7.0], "month_node_days": [700.0, 700.0, 486.8]},
    "few, on nodes of two sizes": ROW
    | {"failure_count": 0.3, "failure_variance": 0.3, "node_days": 12.5, "gpu_count": 500, "gpu_node_count": 80},
    "many": ROW
    | {
        "failure_count": 20_000.0,
        "failure_variance": 41_000.0,
        "node_days": 3e6,
        "month_failure_counts": [2_000.0] * 10,
        "month_node_days": [3e5] * 10,
    },
    "none": ROW | {"failure_count": 0.0, "failure_variance": 0.0, "node_days": 900.0},
}
INPUTS = [
    {"rate": rate, "own": own, "gpus": gpus, "checkpoint": checkpoint, "write": write, "restart": restart,
     "queue": queue, "spares": spares, "repair_hours": 5.0, "days": days, "target": target}
    for rate, gpus, (checkpoint, write, restart), (queue, spares), (days, target, own) in itertools.product(
        ("measured", "low", "high", "own"),
        (8, 500, 16_383, 131_072),
        ((60.0, 0.0, 5.0), (5.0, 0.25, 0.0), (240.0, 10.0, 30.0)),
        ((0.0, 0), (60.0, 2)),
        ((30.0, 0.9, 6.5), (1.0, 0.5, 0.02), (90.0, 0.95, 6.5)),
    )
][::7]  # fmt: skip
"""Every seventh of all questions; each pair of values occurs."""
MEANS_OUT, SPARE_COUNTS = (0.0, 0.2, 12.0, 700.0, 1_000.0, 5_000.0), (0, 1, 16, 700, 1_000, 2_000)
SPARES = list(itertools.product(MEANS_OUT, SPARE_COUNTS))
SHAPES = (0.3, 0.8, 1.0, 5.5, 11.9, 900.0, 40_000.0)
FUNCTIONS = """
const quantiles = %s.map((shape) => whatIfModel.gammaQuantiles(shape, 0.0065, 1000));
const spares = %s.map(([mean, count]) => whatIfModel.probabilityWithoutSpare(mean, 1, count));
const grid = %s.map((data) => %s.map((input) => whatIfModel.evaluate(data, input)));
const text = JSON.stringify({ quantiles, spares, grid }, (_, value) =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
document.getElementById("answers").textContent = text;
"""


@pytest.fixture(scope="module")
def starts(query_rows):
    """The initial data of the sliders of each planted cluster."""
    return {cluster["cluster_id"]: start_of(ClusterData(query_rows, cluster)) for cluster in query_rows["clusters"]}


@pytest.fixture(scope="module")
def page(starts, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One page with the blocks of the planted clusters and the answers to the grid."""
    blocks = "".join(
        f'<article data-page-id="{anchor_of(cluster_id)}/ettr">{block(row)}</article>'
        for cluster_id, row in starts.items()
    )
    data = [what_if_data(row) for row in MEASURED.values()]
    questions = FUNCTIONS % tuple(map(json.dumps, (SHAPES, SPARES, data, INPUTS)))
    watch = (Path(__file__).parents[2] / "assets/report/templates/watch.js").read_text(encoding="utf-8")
    page = tmp_path_factory.mktemp("what_if") / "index.html"
    page.write_text(
        f"<!doctype html><html lang=en data-page=one><meta charset=utf-8><title>What if</title>"
        f"<style>{what_if_styles()}</style>"
        f"<script>{watch}</script><body>{blocks}<div id=answers></div>"
        f"<script>{what_if_script()}</script><script>{questions}</script></html>",
        encoding="utf-8",
    )
    return page


@pytest.fixture(scope="module")
def root(page, tmp_path_factory: pytest.TempPathFactory) -> Element:
    """The page, opened once."""
    return opened(page, tmp_path_factory.mktemp("browser") / "profile").all("html")[0]


@pytest.fixture(scope="module")
def answers(root):
    def number(value):
        return float(value.replace("Infinity", "inf")) if isinstance(value, str) else value

    found = json.loads(root.all("div", id="answers")[0].text)
    found["grid"] = [[{key: number(x) for key, x in answer.items()} for answer in part] for part in found["grid"]]
    return found


OF_PLAN = {
    "nodes": "node_count", "mttf_hours": "mttf_hours", "interruptions": "expected_interruptions",
    "best_minutes": "checkpoint_minutes_optimal", "ettr": "ettr_expected_exact", "ettr_best": "ettr_optimal",
    "without_spare": "probability_without_spare", "probability": "probability_ettr_ge_target_at_checkpoint",
}  # fmt: skip
"""Results on the page, by the keys of `faultline plan --json`; four of them have limits."""
WITH_LIMITS = ("mttf_hours", "interruptions", "best_minutes", "ettr")
OF_PLAN |= {f"{name}{end}": f"{OF_PLAN[name]}{end}" for name in WITH_LIMITS for end in ("_low", "_high")}


def model(row, question):
    """Return what `faultline plan` answers to a question."""
    measured = weighted_interval(row["failure_count"], row["failure_variance"], row["node_days"])
    if question["rate"] == "measured":
        rate = measured
    else:
        given = question["own"] / 1000 if question["rate"] == "own" else float(getattr(measured, question["rate"]))
        if not given > 0:
            return dict.fromkeys(("mttf_hours", "interruptions", "ettr", "probability"))
        rate = assumed_rate(given)
    names = {f"{name}_minutes": name for name in ("write", "restart", "queue")}
    names |= {"spare_count": "spares", "repair_hours": "repair_hours"}
    run = RunToPlan(
        question["gpus"], question["days"], question["target"], question["checkpoint"],
        given={name: float(question[key]) for name, key in names.items()},
    )  # fmt: skip
    nodes = float(nodes_of(question["gpus"], row["gpus_per_node"], row["gpu_count"], row["gpu_node_count"]))
    months = month_variation(row["month_failure_counts"], row["month_node_days"], float(measured.dispersion))
    answer = answer_at(rate, row["gpus_per_node"], nodes, run, source={}, months=months)
    return {name: answer[key] for name, key in OF_PLAN.items()}


@pytest.mark.parametrize("case", MEASURED)
def test_page_and_plan_agree_to_a_millionth(answers, case):
    of_page = answers["grid"][list(MEASURED).index(case)]
    compared = 0
    for question, answer in zip(INPUTS, of_page, strict=True):
        for name, value in model(MEASURED[case], question).items():
            # Unknown and unlimited values of `plan` are null in JSON.
            asked = (case, question, name)
            if value is None:
                assert not math.isfinite(answer[name]), asked
            else:
                assert answer[name] == pytest.approx(value, rel=1e-6, abs=1e-9), asked
            compared += 1
    assert compared > 200


def test_quantiles_of_rates_and_chances_of_spares_are_those_of_scipy(answers):
    levels = (np.arange(1000) + 0.5) / 1000
    for shape, found in zip(SHAPES, answers["quantiles"], strict=True):
        assert found == pytest.approx((special.gammaincinv(shape, levels) * 0.0065 / shape).tolist(), rel=1e-9, abs=0)
    expected = [special.gammainc(count, mean) if count else 1.0 for mean, count in SPARES]
    assert answers["spares"] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_spares_are_counted_as_a_simulation_counts_them():
    generator = np.random.default_rng(3)
    failures = np.cumsum(generator.exponential(1 / 2.0, 40_000))
    back = failures + 0.5
    out = np.arange(failures.size) - np.searchsorted(back, failures)
    for spares in (1, 2, 3):
        assert np.mean(out >= spares) == pytest.approx(float(probability_without_spare(2.0, 0.5, spares)), abs=0.01)


def test_without_nodes_or_a_measured_rate_the_block_says_so():
    assert "outlook of a run is unknown" in block(ROW | {"gpus_per_node": None})
    for unknown in ({"failure_count": None, "note": HOSTILE}, {"has_enough_data": False, "note": "too little"}):
        said = block(ROW | unknown)
        assert "There is no measured rate" in said
        assert HOSTILE not in said
    assert 'value="own" checked' in block(ROW | {"failure_count": None})


def test_the_block_shows_its_grid_and_no_script_failed(root, starts):
    assert "data-problems" not in root.attributes, root.attributes.get("data-problems")
    demo = next(each for each in root.all("div", class_="whatif") if each.all("input", id="demo-whatif-gpus"))
    row = starts["demo"]
    rate = weighted_interval(row["failure_count"], row["failure_variance"], row["node_days"])
    cells = {(cell.attributes["data-gpus"], cell.attributes["data-minutes"]): cell.text for cell in demo.all("td")}
    costs = {"restart_minutes": row["restart_minutes"], "write_minutes": row["write_minutes"]}
    assert cells["512", "60"] == f"{float(expected_ettr_exact(64 * rate.value, 60, **costs)):.3f}"
    assert "larger than any job seen (256 GPUs)" in demo.all("p", class_="note")[-1].text


SCENARIO = {"gpus": "131071", "checkpoint": "7.5", "write": "0.25", "restart": "3", "spares": "40", "queue": "45",
            "repair_hours": "6", "days": "12.5", "target": "0.682", "rate": "own", "own": "4.4"}  # fmt: skip
FIELD = "document.querySelector('#demo-whatif-%s')"
COMMAND = "document.querySelector('[data-page-id=\"demo/ettr\"] [data-command]').textContent"
SHOWN = "document.querySelector('[data-page-id=\"demo/ettr\"] [data-result=%s]').innerText"


def typed(tab, name, value):
    """Type a number into a field and leave it."""
    tab.run(
        f"var field = {FIELD % name}; field.value = {json.dumps(value)};"
        "for (const kind of ['input', 'change']) field.dispatchEvent(new Event(kind, { bubbles: true }))"
    )


def test_the_address_holds_the_scenario_and_the_command_answers_the_same(page, tmp_path):
    address = f"{page.resolve().as_uri()}#demo/ettr/{urlencode(SCENARIO)}"
    with browser(tmp_path / "profile") as tab:
        tab.open(address)
        tab.wait(f"{FIELD % 'gpus'}.value === '131071'")
        command = tab.run(COMMAND)
        done = CliRunner().invoke(app, [*shlex.split(command)[1:], "--json"])
        found = json.loads(done.stdout)
        assert tab.run(SHOWN % "ettr").startswith(short(found["ettr_expected_exact"]))
        assert tab.run(SHOWN % "mttf").startswith(duration(found["mttf_hours"]))
        low, high = (f"{found[f'expected_interruptions_{end}']:,.0f}" for end in ("low", "high"))
        assert f"{low} to {high}" in tab.run(SHOWN % "interruptions")
        reached = found["probability_ettr_ge_target_at_checkpoint"]
        assert 0.01 < reached < 0.99 and tab.run(SHOWN % "probability").startswith(chance(reached))
        assert found["assumptions"] == [], "the command says everything"

        typed(tab, "gpus", "4097")
        assert "/gpus=4097&" in tab.run("location.hash")
        tab.run("history.back()")
        tab.wait(f"{FIELD % 'gpus'}.value === '131071'")

        typed(tab, "gpus", "131073")
        assert tab.run(SHOWN % "mttf").startswith("unknown") and "131072" in tab.run(SHOWN % "mttf")
        assert "/gpus=131071&" in tab.run("location.hash"), "what cannot be is not kept"
        assert tab.run(COMMAND) == "", "nor is its command"
        typed(tab, "gpus", "512")
        typed(tab, "spares", "")
        assert "no spare nodes" in tab.run(SHOWN % "spares")
        assert "--spares none" in tab.run(COMMAND)
        assert tab.problems == []
