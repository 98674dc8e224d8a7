"""Durations of stages are those of their steps."""

from datetime import UTC, datetime
from types import SimpleNamespace

from orchestration.runs.stages import Stage, stages_of


def test_the_steps_of_a_stage_add_up():
    steps = [
        ("estimates__est_b", 20, 21.5), ("raw", 0, 4), ("raw_expectations", 4, 5), ("dbt_models", 5, 15),
        ("estimates__est_a", 16, 18), ("estimates_expectations", 21.5, 23), ("report__index", 23, None),
    ]  # fmt: skip
    found = stages_of([SimpleNamespace(step_key=key, start_time=start, end_time=end) for key, start, end in steps])
    assert found == [
        Stage(name, *(datetime.fromtimestamp(second, UTC).replace(tzinfo=None) for second in ends), seconds, count)
        for name, ends, seconds, count in (
            ("raw", (0, 4), 4, 1), ("checks", (4, 23), 2.5, 2), ("dbt", (5, 15), 10, 1),
            ("estimates", (16, 21.5), 3.5, 2),
        )
    ]  # fmt: skip
