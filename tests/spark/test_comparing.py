"""The comparison of two engines finds every kind of difference, and ignores rounding. It needs no Spark."""

from __future__ import annotations

import duckdb
import pytest

from tests.spark.engines import Difference, compare

ROWS = """
    select
        'c' || (number // 10) as cluster_id,
        number,
        number / 7 as share,
        [number, number + 1] as codes,
        timestamp '2026-01-01' + to_seconds(number) as ended_at,
        case when number % 3 > 0 then number / 11 end as gpu_hours
    from range(100) as numbers (number)
"""


@pytest.fixture
def con():
    with duckdb.connect() as con:
        con.execute("create schema one")
        con.execute("create schema other")
        con.execute(f"create table one.rows as {ROWS}")
        yield con


DIFFERENCES = {
    "none: the order of rows and the last digits of floats": (
        "select * replace (share * (1 + 1e-11) as share) from one.rows order by number desc", {},
    ),
    "a value": (
        "select * replace (case number when 5 then 6 else number end as number) from one.rows",
        {"rows_by_column": {"number": 1}},
    ),
    "a float beyond the tolerance": (
        "select * replace (share * (1 + 1e-8) as share) from one.rows", {"rows_by_column": {"share": 99}},
    ),
    "a time by a microsecond": (
        "select * replace (ended_at + interval 1 microsecond as ended_at) from one.rows",
        {"rows_by_column": {"ended_at": 100}},
    ),
    "a value that became NULL": (
        "select * replace (nullif(gpu_hours, 1 / 11) as gpu_hours) from one.rows", {"rows_by_column": {"gpu_hours": 1}},
    ),
    "the order of a list": (
        "select * replace (list_reverse(codes) as codes) from one.rows", {"rows_by_column": {"codes": 100}},
    ),
    "a row too few": ("select * from one.rows where number > 0", {"row_counts": (100, 99)}),
    "another type": (
        "select * replace (number::integer as number) from one.rows",
        {"columns": [("number", "BIGINT"), ("number", "INTEGER")]},
    ),
    "a column too many": ("select *, 1 as more from one.rows", {"columns": [("more", "INTEGER")]}),
}  # fmt: skip


@pytest.mark.parametrize(("select", "found"), DIFFERENCES.values(), ids=DIFFERENCES)
def test_a_difference_is_found(con, select, found):
    con.execute(f"create table other.rows as {select}")
    assert compare(con, "one", "other", "rows") == Difference("rows", **found)
