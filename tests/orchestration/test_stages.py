"""Durations of stages are those of their steps, also of a run that failed and of one that has nothing to do."""

import time
from datetime import datetime
from types import SimpleNamespace

import dagster as dg
import pytest

from assets.warehouse import Warehouse
from orchestration.session import RefreshSession
from orchestration.stages import Stage, stages_of


def step(key, start, end):
    return SimpleNamespace(step_key=key, start_time=start, end_time=end)


def test_the_steps_of_a_stage_add_up():
    found = stages_of([
        step("estimates__est_b", 20, 21.5),
        step("raw", 0, 4),
        step("raw_expectations", 4, 5),
        step("dbt_models", 5, 15),
        step("estimates__est_a", 16, 18),
        step("estimates_expectations", 21.5, 23),
        step("report__index", 23, None),
    ])  # fmt: skip

    def at(second):
        return datetime(1970, 1, 1, second=second)

    assert found == [
        Stage("raw", at(0), at(4), 4, 1),
        Stage("checks", at(4), at(23), 2.5, 2),
        Stage("dbt", at(5), at(15), 10, 1),
        Stage("estimates", at(16), datetime(1970, 1, 1, 0, 0, 21, 500_000), 3.5, 2),
    ]


@pytest.fixture
def session(tmp_path):
    return RefreshSession(working_file=str(tmp_path / "faultline.duckdb"), lock_file=str(tmp_path / "refresh.lock"))


def run(session, work):
    @dg.op
    def raw():
        time.sleep(0.05)

    @dg.op(ins={"after": dg.In(dg.Nothing)})
    def report__index(session: RefreshSession):
        work(session)

    @dg.job(resource_defs={"session": session}, executor_def=dg.in_process_executor)
    def job():
        report__index(after=raw())

    job.execute_in_process(raise_on_error=False)
    with Warehouse(path=session.working_file).reading() as con:
        return con.execute("select stage, step_count, seconds from ops.stages order by started_at").fetchall()


def test_a_run_that_failed_has_its_stages(session):
    def fail(_):
        raise RuntimeError

    (raw, report) = run(session, fail)
    assert raw[:2] == ("raw", 1) and 0.05 <= raw[2] < 10
    assert report[:2] == ("report", 1)


def test_a_run_that_left_no_row_has_no_stages(session):
    def forget(session):
        with Warehouse(path=session.working_file).writing() as con:
            con.execute("delete from ops.runs")

    assert run(session, forget) == []
