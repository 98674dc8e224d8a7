"""Where time and memory of a refresh go: stages from `ops.stages`, models from dbt, estimates from Dagster."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping, Sequence

import duckdb

from orchestration.runs.instance import open_storage
from orchestration.settings.home import Home
from tests.benchmarks.measuring import Sample
from tests.benchmarks.results import StepCost

MODEL = "model "
ESTIMATE = "estimates__"
LARGE = 0.1
"""Share of a refresh that no model may take."""


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


def models_of(home: Home, samples: Sequence[Sample]) -> dict[str, StepCost]:
    """Give what each model cost in a refresh, the longest first; dbt says when it ran."""
    results = json.loads((home.work / "dbt" / "run_results.json").read_text(encoding="utf-8"))["results"]
    spans = {}
    for result in results:
        kind, _, name = result["unique_id"].partition(".")
        times = [
            dt.datetime.fromisoformat(timing[edge]).timestamp()
            for timing in result["timing"]
            for edge in ("started_at", "completed_at")
        ]
        if kind == "model" and times:
            spans[name.rpartition(".")[2]] = min(times), max(times)
    return costs_of(spans, samples)


def estimates_of(home: Home, samples: Sequence[Sample]) -> dict[str, StepCost]:
    """Give what each estimate cost in a refresh, and what several read, the longest first; Dagster says when it ran."""
    with duckdb.connect(str(home.working_file), read_only=True) as con:
        ((run_id,),) = con.execute("select arg_max(run_id, started_at) from ops.runs").fetchall()
    with open_storage(home) as instance:
        steps = instance.get_run_step_stats(run_id)
    return costs_of(
        {
            step.step_key.removeprefix(ESTIMATE): (step.start_time, step.end_time)
            for step in steps
            if step.step_key.startswith(ESTIMATE) and step.start_time and step.end_time
        },
        samples,
    )


def costs_of(spans: Mapping[str, tuple[float, float]], samples: Sequence[Sample]) -> dict[str, StepCost]:
    """Give the seconds of spans of time, and the most memory that samples found in each; of a short one the nearest."""
    found = {}
    for name, (begin, end) in sorted(spans.items(), key=lambda span: span[1][0] - span[1][1]):
        during = [sample.megabytes for sample in samples if begin <= sample.at <= end]
        nearest = min(samples, key=lambda sample: abs(sample.at - end))
        found[name] = StepCost(end - begin, max(during, default=nearest.megabytes))
    return found


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


def longest_of(steps: dict[str, float], wall_seconds: float) -> list[str]:
    """Name the models that take more than a tenth of the time."""
    return [
        step.removeprefix(MODEL)
        for step, taken in steps.items()
        if step.startswith(MODEL) and taken > LARGE * wall_seconds
    ]
