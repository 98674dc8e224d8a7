"""The comparison of two engines finds every kind of difference, and takes no rounding for one. It needs no Spark."""

from __future__ import annotations

import duckdb
import pytest

from tests.spark.engines import compare

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


def spoil(con: duckdb.DuckDBPyConnection, select: str) -> None:
    con.execute(f"create table other.rows as {select}")


DIFFERENCES = {
    "a value": ("select * replace (case number when 5 then 6 else number end as number) from one.rows", {"number": 1}),
    "a float beyond the tolerance": ("select * replace (share * (1 + 1e-8) as share) from one.rows", {"share": 99}),
    "a time by a microsecond": (
        "select * replace (ended_at + interval 1 microsecond as ended_at) from one.rows", {"ended_at": 100},
    ),
    "a value that became NULL": (
        "select * replace (nullif(gpu_hours, 1 / 11) as gpu_hours) from one.rows", {"gpu_hours": 1},
    ),
    "the order of a list": ("select * replace (list_reverse(codes) as codes) from one.rows", {"codes": 100}),
}  # fmt: skip


@pytest.mark.parametrize("what", DIFFERENCES)
def test_a_difference_in_values_is_found(con, what):
    select, columns = DIFFERENCES[what]
    spoil(con, select)
    assert compare(con, "one", "other", "rows").rows_by_column == columns


def test_a_row_too_few_is_found(con):
    spoil(con, "select * from one.rows where number > 0")
    assert compare(con, "one", "other", "rows").row_counts == (100, 99)


def test_a_row_twice_in_place_of_another_is_found(con):
    spoil(con, "select * from one.rows where number > 0 union all select * from one.rows where number = 1")
    assert compare(con, "one", "other", "rows")


def test_another_type_is_found(con):
    spoil(con, "select * replace (number::integer as number) from one.rows")
    assert compare(con, "one", "other", "rows").columns == [("number", "BIGINT"), ("number", "INTEGER")]


def test_a_column_too_many_is_found(con):
    spoil(con, "select *, 1 as more from one.rows")
    assert compare(con, "one", "other", "rows").columns == [("more", "INTEGER")]


def test_the_order_of_rows_and_the_last_digits_of_floats_are_none(con):
    spoil(con, "select * replace (share * (1 + 1e-11) as share) from one.rows order by number desc")
    assert not compare(con, "one", "other", "rows")
