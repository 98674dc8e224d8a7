"""The sliders answer what `assets/model` answers, over a grid of questions; their block stands in a real browser."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import special

from assets.model.checkpoint import optimal_minutes
from assets.model.ettr import expected_ettr_exact
from assets.model.ettr_simulation import simulate_runs
from assets.model.incident_counts import weighted_interval
from assets.model.month_variation import month_variation
from assets.model.mttf import mttf_at_scale, nodes_of
from assets.model.run_outlook import run_outlook
from assets.model.run_plan import assumed_rate, plan_checkpoints, predict_interruptions, rates_to_come
from assets.model.spares import probability_without_spare
from assets.report.addresses import anchor_of
from assets.report.queries import Own
from assets.report.what_if import sizes_of, start_of, what_if, what_if_data, what_if_script, what_if_styles
from tests.report.browser import opened
from tests.report.clusters import HOSTILE
from tests.report.reading import Element

ROW = {
    "cluster_id": "c", "population": "all", "failure_count": 34.0, "failure_variance": 34.0, "node_days": 1886.8,
    "note": None, "gpus_per_node": 8, "gpu_count": 512, "gpu_node_count": 64,
    "checkpoint_minutes": 60.0, "restart_minutes": 5.0,
    "write_minutes": 0.0, "planned_days": 30.0, "ettr_target": 0.9, "repair_count": 161, "repair_hours": 5.0,
    "month_failure_counts": [], "month_node_days": [],
}  # fmt: skip
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
        (8, 500, 16_384),
        ((60.0, 0.0, 5.0), (5.0, 0.25, 0.0), (240.0, 10.0, 30.0)),
        ((0.0, 0), (60.0, 2)),
        ((30.0, 0.9, 6.5), (1.0, 0.5, 0.02), (90.0, 0.95, 6.5)),
    )
]  # fmt: skip
MEANS_OUT, SPARE_COUNTS = (0.0, 0.2, 12.0, 700.0, 1_000.0, 5_000.0), (0, 1, 16, 700, 1_000, 2_000)
SPARES = list(itertools.product(MEANS_OUT, SPARE_COUNTS))
SHAPES = (0.3, 0.8, 1.0, 5.5, 11.9, 900.0, 40_000.0)
LEVELS = (1e-9, 0.0005, 0.05, 0.5, 0.95, 0.9995)
FUNCTIONS = """
const lambert = %s.map((level) => whatIfModel.lambertW(-level / Math.E));
const quantiles = %s.map((shape) => whatIfModel.gammaQuantiles(shape, 0.0065, 1000));
const spares = %s.map(([mean, count]) => whatIfModel.probabilityWithoutSpare(mean, 1, count));
const grid = %s.map((data) => %s.map((input) => whatIfModel.evaluate(data, input)));
const text = JSON.stringify({ lambert, quantiles, spares, grid }, (_, value) =>
  typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
document.getElementById("answers").textContent = text;
"""


@pytest.fixture(scope="module")
def starts(frames):
    """What the sliders of each planted cluster start from."""
    return {cluster["cluster_id"]: start_of(Own(frames, cluster)) for cluster in frames["clusters"]}


@pytest.fixture(scope="module")
def root(starts, tmp_path_factory: pytest.TempPathFactory) -> Element:
    """One page with the blocks of the planted clusters and the answers to the grid, opened once."""
    blocks = "".join(what_if(row, anchor_of(cluster_id)) for cluster_id, row in starts.items())
    data = [what_if_data(row) for row in MEASURED.values()]
    questions = FUNCTIONS % tuple(map(json.dumps, (LEVELS, SHAPES, SPARES, data, INPUTS)))
    watch = (Path(__file__).parents[2] / "assets/report/templates/watch.js").read_text(encoding="utf-8")
    page = tmp_path_factory.mktemp("what_if") / "index.html"
    page.write_text(
        f"<!doctype html><html lang=en><meta charset=utf-8><title>What if</title><style>{what_if_styles()}</style>"
        f"<script>{watch}</script><body>{blocks}<div id=answers></div>"
        f"<script>{what_if_script()}</script><script>{questions}</script></html>",
        encoding="utf-8",
    )
    return opened(page, tmp_path_factory.mktemp("browser") / "profile").all("html")[0]


@pytest.fixture(scope="module")
def answers(root):
    def number(value):
        return float(value.replace("Infinity", "inf")) if isinstance(value, str) else value

    found = json.loads(root.all("div", id="answers")[0].text)
    found["grid"] = [[{key: number(x) for key, x in answer.items()} for answer in part] for part in found["grid"]]
    return found


def model(row, question):
    """Ask `assets/model` what the page answers."""
    measured = weighted_interval(row["failure_count"], row["failure_variance"], row["node_days"])
    if question["rate"] == "measured":
        rate = measured
    elif question["rate"] == "own":
        rate = assumed_rate(question["own"] / 1000)
    else:
        limit = float(getattr(measured, question["rate"]))
        rate = assumed_rate(limit) if limit > 0 else None
    if rate is None:
        return {"mttf_hours": math.nan, "interruptions": math.nan, "ettr": math.nan, "probability": math.nan}
    months = month_variation(row["month_failure_counts"], row["month_node_days"], float(measured.dispersion))
    variance = float(months.of_future(question["days"]))
    nodes = float(nodes_of(question["gpus"], row["gpus_per_node"], row["gpu_count"], row["gpu_node_count"]))
    rates = {"": rate.value, "_low": rate.low, "_high": rate.high}
    per_day = {name: nodes * float(x) if x > 0 else math.nan for name, x in rates.items()}
    without = {name: probability_without_spare(x, question["repair_hours"] / 24, question["spares"])
               for name, x in per_day.items()}  # fmt: skip

    def costs(name):
        return {
            "restart_minutes": question["restart"],
            "write_minutes": question["write"],
            "queue_minutes": question["queue"] * float(without[name]),
        }

    def ettr(name):
        return float(expected_ettr_exact(per_day[name], question["checkpoint"], **costs(name)))

    mttf, future = mttf_at_scale(rate, nodes), predict_interruptions(rate, nodes * question["days"], variance)
    plan = plan_checkpoints(rate, nodes, **costs(""))
    may_be_zero = rate.low == 0
    free = {"restart_minutes": question["restart"], "write_minutes": question["write"]}
    if may_be_zero:
        wait = question["queue"] * (question["spares"] == 0)
        highest = float(expected_ettr_exact(0.0, question["checkpoint"], **free, queue_minutes=wait))
    else:
        highest = ettr("_low")
    reached = run_outlook(
        rate, nodes, question["checkpoint"], **costs(""), scheduled_days=question["days"], target=question["target"],
        relative_variance=variance,
    )  # fmt: skip
    return {
        "nodes": nodes,
        "mttf_hours": mttf.hours, "mttf_hours_low": mttf.low, "mttf_hours_high": mttf.high,
        "interruptions": future.value, "interruptions_low": future.low, "interruptions_high": future.high,
        "best_minutes": plan.optimal, "best_minutes_low": plan.optimal_low, "best_minutes_high": plan.optimal_high,
        "ettr": ettr(""), "ettr_low": ettr("_high"), "ettr_high": highest,
        "ettr_best": plan.ettr_optimal, "without_spare": without[""],
        "probability": reached.probability,
    }  # fmt: skip


@pytest.mark.parametrize("case", MEASURED)
def test_page_and_model_agree_to_a_millionth(answers, case):
    of_page = answers["grid"][list(MEASURED).index(case)]
    compared = 0
    for question, answer in zip(INPUTS, of_page, strict=True):
        for name, value in model(MEASURED[case], question).items():
            assert answer[name] == pytest.approx(float(value), rel=1e-6, abs=1e-9, nan_ok=True), (case, question, name)
            compared += 1
    assert compared > 1_500


def test_lamberts_function_is_that_of_scipy(answers):
    assert answers["lambert"] == pytest.approx(special.lambertw(-np.array(LEVELS) / np.e).real.tolist(), rel=1e-12)


def test_quantiles_of_rates_are_those_of_scipy(answers):
    levels = (np.arange(1000) + 0.5) / 1000
    for shape, found in zip(SHAPES, answers["quantiles"], strict=True):
        assert found == pytest.approx((special.gammaincinv(shape, levels) * 0.0065 / shape).tolist(), rel=1e-9, abs=0)


def test_finding_no_spare_is_as_likely_as_by_scipy_however_many_nodes_are_out(answers):
    expected = [special.gammainc(count, mean) if count else 1.0 for mean, count in SPARES]
    assert answers["spares"] == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_the_fixed_draws_agree_with_runs_that_are_drawn():
    rate, nodes = weighted_interval(34.0, 34.0, 1886.8), 64
    shape, mean = rates_to_come(rate, 0.18)
    source = np.random.default_rng(5)
    for checkpoint, target in ((30.0, 0.94), (60.0, 0.95), (120.0, 0.9)):
        costs = {"restart_minutes": 5.0, "write_minutes": 1.0}
        asked = {**costs, "scheduled_days": 30.0, "target": target}
        drawn = simulate_runs(
            source.gamma(shape, mean / shape, 4_000) * nodes, checkpoint, **costs, scheduled_days=30.0,
            run_count=4_000, generator=source,
        )  # fmt: skip
        fixed = run_outlook(rate, nodes, checkpoint, **asked, relative_variance=0.18)
        assert fixed.probability == pytest.approx(drawn.probability_at_least(target), abs=0.03)
        assert (fixed.ettr_low, fixed.ettr_high) == pytest.approx((drawn.low, drawn.high), abs=0.004)
        exact = run_outlook(assumed_rate(float(rate.value)), nodes, checkpoint, **asked)
        expected = expected_ettr_exact(nodes * rate.value, checkpoint, **costs)
        assert exact.ettr_mean == pytest.approx(float(expected), abs=0.004)


def test_spares_are_counted_as_a_simulation_counts_them():
    generator = np.random.default_rng(3)
    failures = np.cumsum(generator.exponential(1 / 2.0, 40_000))
    back = failures + 0.5
    out = np.arange(failures.size) - np.searchsorted(back, failures)
    for spares in (1, 2, 3):
        assert np.mean(out >= spares) == pytest.approx(float(probability_without_spare(2.0, 0.5, spares)), abs=0.01)
    with pytest.raises(ValueError, match="0 or more"):
        probability_without_spare(1.0, -1.0, 1)


def test_the_sizes_are_those_of_the_cluster(starts):
    assert sizes_of(ROW)[-1] == 2048
    assert what_if_data(ROW)["grid_gpus"] == [8, 16, 32, 64, 128, 256, 512]
    own = {cluster_id: what_if_data(row) for cluster_id, row in starts.items()}
    assert own["demo"]["grid_gpus"][-1] == 512
    assert own["hall-b"]["grid_gpus"][-1] == 32


def test_a_cluster_whose_nodes_are_unknown_says_so():
    row = ROW | {"gpus_per_node": None}
    assert "cannot be told" in what_if(row, "c")
    without_rate = what_if(ROW | {"failure_count": None, "note": HOSTILE}, "c")
    assert "There is no measured rate" in without_rate
    assert HOSTILE not in without_rate
    assert 'value="own" checked' in without_rate


def test_the_block_shows_its_answers_and_no_script_failed(root, starts):
    assert "data-problems" not in root.attributes, root.attributes.get("data-problems")
    blocks = root.all("div", class_="whatif")
    assert len(blocks) == 2
    demo = next(block for block in blocks if block.all("input", id="demo-whatif-gpus"))
    row = starts["demo"]
    rate = weighted_interval(row["failure_count"], row["failure_variance"], row["node_days"])
    shown = demo.all("dd", data_result="mttf")[0].text
    assert shown.startswith(f"{24 / (64 * float(rate.value)):.3g} h")
    best = float(optimal_minutes(64 * rate.value, row["write_minutes"]))
    assert demo.all("dd", data_result="best")[0].text.startswith(f"{best / 60:.3g}" if best >= 60 else f"{best:.3g}")
    cells = {(cell.attributes["data-gpus"], cell.attributes["data-minutes"]): cell.text for cell in demo.all("td")}
    ettr = expected_ettr_exact(64 * rate.value, 60, restart_minutes=row["restart_minutes"],
                               write_minutes=row["write_minutes"])  # fmt: skip
    assert cells["512", "60"] == f"{float(ettr):.3f}"


def test_every_slider_has_a_label_a_unit_and_a_value_in_words(root):
    sliders = root.all("input", type="range")
    assert len(sliders) == 18
    labels = {label.attributes.get("for"): label.text for label in root.all("label")}
    for slider in sliders:
        assert labels[slider.attributes["id"]]
        assert slider.attributes["aria-valuetext"]
        assert (slider.attributes["data-unit"] or "") in slider.attributes["aria-valuetext"]
    ids = [slider.attributes["id"] for slider in sliders]
    assert len(set(ids)) == len(ids)
    assert len(root.all("dl", aria_live="polite")) == 2
