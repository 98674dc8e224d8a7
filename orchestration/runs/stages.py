"""The duration of each stage of a run, from Dagster's history of its steps: `ops.stages`.

dbt builds and tests all models in one step, which is one stage here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

import duckdb

if TYPE_CHECKING:
    from dagster import DagsterInstance

CHECKS, DBT = "checks", "dbt"


class Step(Protocol):
    """A step: its key, and when it began and ended, in seconds since 1970."""

    step_key: str
    start_time: float | None
    end_time: float | None


@dataclass(frozen=True)
class Stage:
    """The ended steps of a stage: their number, their total time, and their first and last moment in UTC."""

    name: str
    started_at: datetime
    ended_at: datetime
    seconds: float
    step_count: int


def record_stages(con: duckdb.DuckDBPyConnection, instance: DagsterInstance, run_id: str) -> None:
    """Replace the rows of a run in `ops.stages`."""
    con.execute("delete from ops.stages where run_id = ?", [run_id])
    for stage in stages_of(instance.get_run_step_stats(run_id)):
        con.execute(
            "insert into ops.stages values (?, ?, ?, ?, ?, ?)",
            [run_id, stage.name, stage.started_at, stage.ended_at, stage.seconds, stage.step_count],
        )


def stages_of(steps: Sequence[Step]) -> list[Stage]:
    """Add up the steps of each stage, in the order in which the stages began; steps run one at a time."""
    times: dict[str, list[tuple[float, float]]] = {}
    for step in steps:
        if step.start_time is not None and step.end_time is not None:
            times.setdefault(_stage_of(step.step_key), []).append((step.start_time, step.end_time))
    stages = [
        Stage(
            name,
            _moment(min(start for start, _ in of_stage)),
            _moment(max(end for _, end in of_stage)),
            sum(end - start for start, end in of_stage),
            len(of_stage),
        )
        for name, of_stage in times.items()
    ]
    return sorted(stages, key=lambda stage: stage.started_at)


def _stage_of(step_key: str) -> str:
    """Return the stage of a step key: `dbt_models`, `raw`, `estimates__<table>`, or one ending in `_expectations`."""
    if step_key.endswith("_expectations"):
        return CHECKS
    return DBT if step_key == "dbt_models" else step_key.partition("__")[0]


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)
