"""Local time to UTC agrees with Python's own time zones, folds and gaps included."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.sources.text import times
from tests.logs import export
from tests.sources.folders import load, make, rows

ZONES = ["UTC", "Asia/Tokyo", "Asia/Kolkata", "America/Los_Angeles", "Europe/Helsinki", "Australia/Lord_Howe"]


def in_sql(zone, moments):
    """Return for every local time: first pass, second pass, ambiguous, nonexistent."""
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
    """Return the same by Python's time zones."""
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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-11-03T01:15:00", "2024-11-03 01:15:00"),
        ("2024-11-03T01:15:00-0800", "2024-11-03 09:15:00"),
        ("2024-11-03T01:15:00-08:00", "2024-11-03 09:15:00"),
        ("2024-11-03T01:15:00Z", "2024-11-03 01:15:00"),
        ("25 Apr 09:10", None),
    ],
)
def test_parsed(text, expected):
    con = duckdb.connect()
    con.execute("set timezone = 'UTC'")
    found = con.execute(f"select {times.parsed('t')}, {times.has_offset('t')} from (select ? as t)", [text]).fetchone()
    assert found is not None
    assert (None if found[0] is None else str(found[0])) == expected
    assert found[1] == text.endswith(("0800", "08:00", "Z"))


DOUBLED = [
    # An elapsed time settles which pass of the doubled hour Start and End are of.
    ("2024-11-03T01:10:00", "2024-11-03T01:20:00", "600", ("08:10", "08:20", "local")),
    ("2024-11-03T01:10:00", "2024-11-03T01:20:00", "4200", ("08:10", "09:20", "local")),
    ("2024-11-03T01:30:00", "2024-11-03T01:20:00", "3000", ("08:30", "09:20", "local")),
    ("2024-11-03T01:10:00", "2024-11-03T02:20:00", "4200", ("09:10", "10:20", "local")),
    ("2024-11-03T01:10:00", "2024-11-03T02:20:00", "7800", ("08:10", "10:20", "local")),
    # None does: the first pass, unless the order of events forbids it.
    ("2024-11-03T01:10:00", "2024-11-03T01:20:00", None, ("08:10", "08:20", "ambiguous_dst")),
    ("2024-11-03T01:30:00", "2024-11-03T01:20:00", None, ("08:30", "09:20", "ambiguous_dst")),
]


def test_a_doubled_hour(tmp_path):
    day = {"Submit": "2024-11-03T00:10:00", "Eligible": "2024-11-03T00:10:00"}
    records = [
        {**day, "JobID": f"{number}", "Start": start, "End": end, "ElapsedRaw": elapsed}
        for number, (start, end, elapsed, _) in enumerate(DOUBLED)
    ]
    files = {"c1/cluster.toml": 'timezone = "America/Los_Angeles"', "c1/sacct/a.txt": export(records)}
    found = rows(
        load(make(tmp_path, files)), "select started_at, ended_at, time_quality from raw.sacct order by job_id_raw"
    )
    read = [(f"{row['started_at']:%H:%M}", f"{row['ended_at']:%H:%M}", row["time_quality"]) for row in found]
    assert read == [expected for *_, expected in DOUBLED]
