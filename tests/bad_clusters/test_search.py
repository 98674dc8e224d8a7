"""The search finds exactly the clusters on which a step fails, at a bounded cost. Trials leave nothing behind."""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import nullcontext
from random import Random

import dagster as dg
import duckdb
import pytest

from assets.bad_clusters.errors import may_be_of_rows
from assets.bad_clusters.left_out import TRIAL
from assets.bad_clusters.search import find_bad_clusters, leave_out_bad_clusters
from assets.estimates.table import compute_for_good_clusters, read
from assets.warehouse import OpenWarehouse, replace_table
from orchestration.dbt.processes import DbtKilled, require_not_killed
from tests.homes import ask, change

CLUSTERS = "abcdefgh"
OWN = OverflowError("of all")


class Step:
    """Fails on the rows of some clusters, or of two of them together, and records the trials."""

    def __init__(self, bad: str, together: str = "", error: Exception | None = None) -> None:
        self.bad, self.together, self.error = {*bad}, {*together}, error
        self.tried: list[str] = []

    def __call__(self, clusters: Collection[str]) -> None:
        self.tried.append("".join(sorted(clusters)))
        wrong = sorted(self.bad & {*clusters})
        if wrong or (self.together and self.together <= {*clusters}):
            raise self.error or OverflowError(f"rows of {''.join(wrong)[:1]}")


@pytest.mark.parametrize(
    ("clusters", "step", "before", "found", "trials"),
    [
        *((CLUSTERS, Step(name), "", name, 6) for name in CLUSTERS),
        (CLUSTERS, Step("a"), "", "a", ["abcd", "ab", "a", "b", "cd", "efgh"]),
        # The first trial excludes the clusters that the last publication lacks.
        (CLUSTERS, Step("b"), "b", "b", ["acdefgh"]),
        (CLUSTERS, Step("b"), "bd", "b", ["acefgh", "b", "d"]),
        (CLUSTERS, Step("", together="bf"), "b", "b", ["acdefgh"]),
        ("ab", Step("a"), "b", "a", ["a", "a", "b"]),
        # Leaving clusters out does not help.
        (CLUSTERS, Step(CLUSTERS), "", "", 15),
        (CLUSTERS, Step("", together="cf"), "", "", 15),
        ("a", Step("a"), "", "", 0),
    ],
)
def test_which_clusters_are_found_by_how_many_trials(clusters, step, before, found, trials):
    assert "".join(find_bad_clusters(clusters, step, OWN, before)) == found
    assert step.tried == trials if isinstance(trials, list) else len(step.tried) <= trials


def test_several_at_once_are_found_each_with_its_own_error():
    rng = Random(5)
    for _ in range(50):
        bad = "".join(sorted(rng.sample(CLUSTERS, rng.randrange(1, len(CLUSTERS)))))
        found = find_bad_clusters(CLUSTERS, Step(bad), OWN)
        assert {name: str(error) for name, error in found.items()} == {name: f"rows of {name}" for name in bad}


OF_DBT = "x could not be built: Runtime Error in model x (x.sql)"


@pytest.mark.parametrize(
    ("error", "is_of_rows"),
    [
        *((duckdb.Error(f"{kind} Error: x"), True) for kind in ("Conversion", "Out of Range", "Invalid Input")),
        *((duckdb.Error(f"{kind} Error: x"), False) for kind in ("Parser", "Catalog", "Binder", "Compilation")),
        *((duckdb.Error(f"{kind} Error: x"), False) for kind in ("Out of Memory", "IO")),
        # The text after the kind may quote rows.
        (duckdb.ConversionException("Conversion Error: Could not convert string 'IO Error: No space left'"), True),
        (Exception(f"{OF_DBT} Conversion Error: 'IO Error: a'"), True),
        (Exception(f"{OF_DBT} IO Error: No space left on device"), False),
        (FloatingPointError("overflow encountered in exp"), True),
        (KeyError("x"), True),
        (MemoryError(), False),
        (DbtKilled("dbt was killed"), False),
        (OSError(28, "No space left on device"), False),
        (duckdb.InterruptException("Interrupted"), False),
        (duckdb.ConnectionException("Connection Error: already closed"), False),
    ],
)
def test_which_errors_rows_can_cause(error, is_of_rows):
    assert may_be_of_rows(error) == is_of_rows


def test_a_signal_that_ended_dbt_is_no_error_of_rows():
    require_not_killed(1)
    with pytest.raises(DbtKilled):
        require_not_killed(-9)


@pytest.fixture
def warehouse(tmp_path):
    """The files of a running refresh with four clusters, after a publication without the estimates of c."""
    warehouse = OpenWarehouse(path=str(tmp_path / "w.duckdb"), publication=str(tmp_path / "p.duckdb"))
    change(
        warehouse,
        "create schema inputs",
        "create table inputs.inp_x as select unnest(['a', 'b', 'c', 'd']) as cluster_id",
        "create or replace table raw.clusters as from inputs.inp_x",
        "insert into ops.runs values ('before', now(), now(), 'published', 'v', null)",
        "insert into ops.published values ('before', now(), '', 'v', '{}')",
        "insert into ops.cluster_failures values ('before', 'c', 'estimates', 'x', now())",
        "insert into ops.runs values ('run', now(), null, 'running', 'v', null)",
    )
    yield warehouse
    warehouse.close()


def compute(step: Step, warehouse: OpenWarehouse) -> None:
    """Compute an estimate of the visible clusters."""

    def est_x(warehouse):
        with warehouse.writing() as con:
            frame = read(con, "inp_x")
            step("".join(frame["cluster_id"]))
            replace_table(con, "estimates.est_x", frame, "cluster_id varchar")
        return dg.MaterializeResult(metadata={})

    compute_for_good_clusters(est_x, warehouse, "estimates.est_x")


FAILURES = "select cluster_id, stage, reason from ops.cluster_failures where run_id = 'run' order by 1"
REASON = "estimates.est_x could not be made of its rows: OverflowError: "


@pytest.mark.parametrize(
    ("step", "left_out", "tried"),
    [
        (Step(""), "", ["abcd"]),
        (Step("c"), "c", ["abcd", "abd", "abd"]),
        (Step("ad"), "ad", ["abcd", "abd", "ab", "a", "b", "cd", "c", "d", "bc"]),
        # The step's error is raised, and no cluster is left out.
        (Step("abcd"), None, 8),
        (Step("", together="ab"), None, 8),
        (Step("b", error=MemoryError()), None, 1),
        (Step("b", error=duckdb.Error("Binder Error: no such column")), None, 1),
        (Step("b", error=OSError(28, "No space left on device")), None, 1),
    ],
)
def test_an_estimate_is_made_without_the_clusters_at_fault_alone(step, left_out, tried, warehouse):
    with nullcontext() if left_out is not None else pytest.raises((OverflowError, MemoryError, OSError, duckdb.Error)):
        compute(step, warehouse)
    assert step.tried == tried if isinstance(tried, list) else len(step.tried) <= tried
    found = [(name, stage, reason[: len(REASON)]) for name, stage, reason in ask(warehouse, FAILURES)]
    assert found == [(name, "estimates", REASON) for name in left_out or ""]
    if left_out is not None:
        made = ask(warehouse, "select string_agg(cluster_id, '' order by 1) from estimates.est_x")
        assert made == [("".join(name for name in "abcd" if name not in left_out),)]


def test_an_error_of_the_machine_in_a_trial_ends_the_search(warehouse):
    def attempt():
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        leave_out_bad_clusters(warehouse, "build", OWN, attempt)
    assert ask(warehouse, FAILURES) == []


def test_a_run_that_is_killed_in_a_trial_leaves_nothing_out_of_the_next(warehouse):
    warehouse.close()
    if (child := os.fork()) == 0:
        try:
            leave_out_bad_clusters(warehouse, "build", OWN, lambda: os._exit(9))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert {stage for _, stage, _ in ask(warehouse, FAILURES)} == {TRIAL}

    running = "insert into ops.runs values ('next', now(), null, 'running', 'v', null)"
    change(warehouse, "update ops.runs set status = 'failed'", running)
    step = Step("b")
    compute(step, warehouse)
    assert (step.tried[0], step.tried[-1]) == ("abcd", "acd")
    assert ask(warehouse, f"select stage from ops.cluster_failures where stage = '{TRIAL}'") == []
