"""Local time to UTC agrees with Python's own time zones, folds and gaps included."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.sources.text import times

ZONES = ["UTC", "Asia/Tokyo", "Asia/Kolkata", "America/Los_Angeles", "Europe/Helsinki", "Australia/Lord_Howe"]


def in_sql(zone, moments):
    """Return four values for every local time: first pass, second pass, ambiguous, nonexistent."""
    con = duckdb.connect(config={"threads": 1})
    columns = ", ".join(
        [
            times.utc("t", zone),
            times.utc("t", zone, second_of_fold=True),
            times.is_ambiguous("t", zone),
            times.is_nonexistent("t", zone),
        ]
    )
    return con.execute(f"select {columns} from (select unnest(?::timestamp[]) as t)", [moments]).fetchall()


def in_python(zone, local):
    """Return the same values from Python's time zones."""
    info = ZoneInfo(zone)
    first, second = (local.replace(tzinfo=info, fold=fold).astimezone(UTC) for fold in (0, 1))
    exists = first.astimezone(info).replace(tzinfo=None) == local
    return first.replace(tzinfo=None), second.replace(tzinfo=None), exists and first != second, not exists


def assert_same(zone, moments):
    for local, found in zip(moments, in_sql(zone, moments), strict=True):
        expected = in_python(zone, local)
        assert found[3] == expected[3], local
        if not found[3]:
            assert found == expected, local


@pytest.mark.parametrize("zone", ZONES)
@settings(max_examples=5)
@given(moments=st.lists(st.datetimes(datetime(1995, 1, 1), datetime(2050, 1, 1)), min_size=1, max_size=100))
def test_any_moment(zone, moments):
    assert_same(zone, [moment.replace(microsecond=0, fold=0) for moment in moments])


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Europe/Helsinki", "Australia/Lord_Howe"])
def test_around_every_change(zone):
    steps = [timedelta(minutes=minutes) for minutes in (-61, -31, -1, 0, 1, 14, 29, 30, 31, 59, 60, 61)]
    assert_same(zone, [change.first_local + step for change in times.offset_changes(zone) for step in steps])


@pytest.mark.parametrize("zone", [*ZONES, "Europe/Moscow", "Africa/Casablanca"])
def test_a_few_years_need_only_their_changes(zone):
    con = duckdb.connect(config={"threads": 1})
    whole, short = (times.utc("t", zone, years=years) for years in (times.EVER, (2023, 2024)))
    two_years = "select unnest(range(timestamp '2023-01-01', timestamp '2025-01-01', interval 15 minute)) as t"
    assert con.execute(f"select count(*) from ({two_years}) where {whole} <> {short}").fetchone() == (0,)
    assert len(short) < 600
