"""Every cluster on whose rows a step fails is found, at a bounded cost, and no other one is."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import duckdb
import pytest

from assets.bad_clusters.errors import may_be_of_rows
from assets.bad_clusters.search import SCRATCH, find_bad_clusters, scratch_database, show_rows

CLUSTERS = "abcdefgh"


class Step:
    """Fails on the rows of some clusters, and notes what it was tried on."""

    def __init__(self, bad: str) -> None:
        self.bad = set(bad)
        self.tried: list[str] = []

    def __call__(self, clusters: Sequence[str]) -> None:
        self.tried.append("".join(clusters))
        wrong = sorted(self.bad & set(clusters))
        if wrong:
            raise OverflowError(f"rows of {wrong[0]}")


@pytest.mark.parametrize("bad", CLUSTERS)
def test_one_of_eight_is_found_with_less_than_two_more_steps_over_all(bad):
    step = Step(bad)
    found = find_bad_clusters(CLUSTERS, step)
    assert {name: str(error) for name, error in found.items()} == {bad: f"rows of {bad}"}
    assert sum(map(len, step.tried)) < 2 * len(CLUSTERS)
    assert len(step.tried) <= 6


def test_several_at_once_are_found_each_with_its_own_error():
    rng = Random(5)
    for _ in range(50):
        bad = "".join(sorted(rng.sample(CLUSTERS, rng.randrange(1, len(CLUSTERS)))))
        found = find_bad_clusters(CLUSTERS, Step(bad))
        assert {name: str(error) for name, error in found.items()} == {name: f"rows of {name}" for name in bad}


def test_the_likeliest_are_tried_first():
    step = Step("a")
    find_bad_clusters(CLUSTERS, step)
    assert step.tried[:3] == ["abcd", "ab", "a"]


@pytest.mark.parametrize(("clusters", "bad"), [(CLUSTERS, CLUSTERS), ("a", "a"), (CLUSTERS, "")])
def test_where_leaving_out_is_no_help_none_is_found(clusters, bad):
    assert find_bad_clusters(clusters, Step(bad)) == {}


def test_of_two_whose_rows_fail_only_together_none_is_at_fault():
    def step(clusters):
        if {"c", "f"} <= set(clusters):
            raise OverflowError

    assert find_bad_clusters(CLUSTERS, step) == {}


def test_an_error_of_the_machine_ends_the_search():
    def step(clusters):
        raise OSError(28, "No space left on device") if len(clusters) == 2 else OverflowError

    with pytest.raises(OSError, match="No space"):
        find_bad_clusters(CLUSTERS, step)


@pytest.mark.parametrize(
    ("error", "is_of_rows"),
    [
        (duckdb.Error("Conversion Error: Type INT64 with value 7 can't be cast"), True),
        (duckdb.Error("Out of Range Error: Overflow in addition"), True),
        (duckdb.Error("Invalid Input Error: odd"), True),
        (FloatingPointError("overflow encountered in exp"), True),
        (KeyError("x"), True),
        (duckdb.Error("Parser Error: syntax error"), False),
        (duckdb.Error("Catalog Error: Table does not exist"), False),
        (duckdb.Error("Binder Error: no such column"), False),
        (duckdb.Error("Compilation Error in model"), False),
        (duckdb.Error("Out of Memory Error: failed to allocate"), False),
        (duckdb.Error("IO Error: No space left on device"), False),
        (duckdb.InterruptException("Interrupted"), False),
        (duckdb.ConversionException("Conversion Error: Could not convert string 'No space left on device'"), True),
        (duckdb.ConversionException("Conversion Error: Could not convert string 'fatal error: IO Error: quota'"), True),
        (Exception("x could not be built: Runtime Error in model x (x.sql) Conversion Error: 'IO Error: a'"), True),
        (Exception("x could not be built: Runtime Error in model x (x.sql) IO Error: No space left on device"), False),
        (MemoryError(), False),
        (OSError(28, "No space left on device"), False),
        (duckdb.ConnectionException("Connection Error: already closed"), False),
    ],
)
def test_which_errors_rows_can_cause(error, is_of_rows):
    assert may_be_of_rows(error) == is_of_rows


@pytest.mark.parametrize("is_copy", [True, False])
def test_a_scratch_database_shows_the_rows_of_some_clusters_and_keeps_what_is_written(is_copy):
    with duckdb.connect() as con:
        con.execute("create schema raw; create table raw.x as select unnest(['a', 'b', 'c']) as cluster_id")
        con.execute("create view raw.y as select cluster_id || '!' as text, cluster_id from raw.x")
        con.execute("create table raw.z as select 7 as number")
        with scratch_database(con) as trial:
            show_rows(con, ["a", "c"], ["raw.x", "raw.y", "raw.z"], is_copy=is_copy)
            assert trial.execute("select text from raw.y order by 1").fetchall() == [("a!",), ("c!",)]
            assert trial.execute("from raw.z").fetchall() == [(7,)]
            if is_copy:
                trial.execute("delete from raw.x")
            trial.execute("create table raw.made as select 1 as i")
        assert con.execute("select count(*) from raw.x").fetchall() == [(3,)]
        tables = con.execute("select table_name from duckdb_tables() order by 1").fetchall()
        assert (tables, SCRATCH) == ([("x",), ("z",)], "scratch")
