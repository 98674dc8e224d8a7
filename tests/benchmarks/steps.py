"""Where the time of a refresh goes: its stages from `ops.stages`, dbt's models from dbt's own results."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence

import duckdb
import numpy as np

from orchestration.dbt.build import manifest_of
from orchestration.home import Home
from tests.benchmarks.measuring import Sample
from tests.benchmarks.results import ModelCost

MODEL = "model "
LARGE = 0.1
"""Share of a refresh above which a model has to have a reason."""

REASONS: dict[str, str] = {}
"""Why a model may take more than a tenth of a refresh, by its name. A model that is not here has no reason."""


def steps_of(home: Home) -> dict[str, float]:
    """Give the seconds of the last refresh by step, the longest first.

    Stages stand under their names; the parts of the stage `dbt` as `model <name>`, `dbt seeds`, `dbt tests`.
    """
    with duckdb.connect(str(home.working_file), read_only=True) as con:
        found = dict(
            con.execute(
                "select stage, seconds from ops.stages"
                " where run_id = (select arg_max(run_id, started_at) from ops.runs)"
            ).fetchall()
        )
    results = home.work / "dbt" / "run_results.json"
    for result in json.loads(results.read_text(encoding="utf-8"))["results"]:
        kind, _, name = result["unique_id"].partition(".")
        step = f"{MODEL}{name.rpartition('.')[2]}" if kind == "model" else f"dbt {kind}s"
        found[step] = found.get(step, 0) + result["execution_time"]
    return dict(sorted(found.items(), key=lambda step: -step[1]))


def rebuilt_whole(home: Home) -> list[str]:
    """Name the steps that build a table from all rows, whatever is new. A view costs where it is read."""
    nodes = json.loads(manifest_of(home).read_text(encoding="utf-8"))["nodes"].values()
    tables = [node["name"] for node in nodes if node["config"]["materialized"] == "table"]
    return ["estimates", *(f"{MODEL}{name}" for name in sorted(tables))]


def models_of(home: Home, samples: Sequence[Sample]) -> dict[str, ModelCost]:
    """Give what each model cost in a refresh on one thread, the dearest first.

    dbt says when a model ran, the samples what the refresh used and held meanwhile: dbt's seconds are of the clock,
    which goes on while other programs have the processor.
    """
    at = np.array([sample.at for sample in samples])
    used = np.array([sample.cpu_seconds for sample in samples])
    held = np.array([sample.megabytes for sample in samples])
    found = {}
    for result in json.loads((home.work / "dbt" / "run_results.json").read_text(encoding="utf-8"))["results"]:
        kind, _, name = result["unique_id"].partition(".")
        times = [
            dt.datetime.fromisoformat(timing[edge]).timestamp()
            for timing in result["timing"]
            for edge in ("started_at", "completed_at")
        ]
        if kind == "model" and times:
            begin, end = np.interp([min(times), max(times)], at, used)
            during = held[(at >= min(times)) & (at <= max(times))]
            nearest = held[np.abs(at - max(times)).argmin()]
            found[name.rpartition(".")[2]] = ModelCost(float(end - begin), float(max(during, default=nearest)))
    return dict(sorted(found.items(), key=lambda model: -model[1].cpu_seconds))


def parts_of(steps: dict[str, float], wall_seconds: float) -> dict[str, float]:
    """Divide the wall time of a small refresh: dbt's models, seeds and tests, dbt itself, the other stages, the rest.

    Examples
    --------
    >>> parts_of({"dbt": 5, "raw": 1, "model a": 2, "model b": 1, "dbt tests": 1}, 10)
    {'start, imports, Dagster': 4, 'dbt models': 3, 'dbt itself': 1, 'dbt tests': 1, 'raw': 1}
    """
    inside = {step: seconds for step, seconds in steps.items() if step.startswith((MODEL, "dbt "))}
    stages = {step: seconds for step, seconds in steps.items() if step not in inside and step != "dbt"}
    parts = {
        "start, imports, Dagster": wall_seconds - sum(stages.values()) - steps.get("dbt", 0),
        "dbt models": sum(seconds for step, seconds in inside.items() if step.startswith(MODEL)),
        "dbt itself": steps.get("dbt", 0) - sum(inside.values()),
        **{step: seconds for step, seconds in inside.items() if not step.startswith(MODEL)},
        **stages,
    }
    return dict(sorted(parts.items(), key=lambda part: -part[1]))


def unexplained(seconds: dict[str, float], wall_seconds: float) -> list[str]:
    """Name the models that take more than a tenth of the time and have no reason."""
    return [
        name
        for step, taken in seconds.items()
        if step.startswith(MODEL) and taken > LARGE * wall_seconds and (name := step.removeprefix(MODEL)) not in REASONS
    ]
