"""Where the time of a refresh goes: its stages from `ops.stages`, dbt's models from dbt's own results."""

from __future__ import annotations

import json

import duckdb

from orchestration.home import Home

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


def unexplained(seconds: dict[str, float], wall_seconds: float) -> list[str]:
    """Name the models that take more than a tenth of the time and have no reason."""
    return [
        name
        for step, taken in seconds.items()
        if step.startswith(MODEL) and taken > LARGE * wall_seconds and (name := step.removeprefix(MODEL)) not in REASONS
    ]
