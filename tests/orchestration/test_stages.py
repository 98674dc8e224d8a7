"""Durations of stages are those of their steps, also of a run that failed."""

import time
from datetime import UTC, datetime
from types import SimpleNamespace

import dagster as dg

from assets.warehouse import Warehouse
from orchestration.runs.stages import Stage, record_stages, stages_of


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


def test_a_run_that_failed_has_its_stages(tmp_path):
    @dg.op
    def raw():
        time.sleep(0.05)

    @dg.op(ins={"after": dg.In(dg.Nothing)})
    def report__index():
        raise RuntimeError

    @dg.job(executor_def=dg.in_process_executor)
    def job():
        report__index(after=raw())

    with (
        dg.DagsterInstance.ephemeral() as instance,
        Warehouse(path=str(tmp_path / "faultline.duckdb")).writing() as con,
    ):
        run_id = job.execute_in_process(instance=instance, raise_on_error=False).run_id
        for _ in range(2):
            record_stages(con, instance, run_id)
        found = con.execute("select stage, step_count, seconds from ops.stages order by started_at").fetchall()
    (of_raw, of_report) = found
    assert of_raw[:2] == ("raw", 1) and 0.05 <= of_raw[2] < 10
    assert of_report[:2] == ("report", 1)
