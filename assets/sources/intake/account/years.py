"""Find the years of lines without a year, once accounting is read.

A line like `Jun  3 09:58:01` was read with the year of its file's date (`text.undated`). A file that was copied later
has a later date. So the lines of a file move back by the number of whole years that puts most of them within a month of
accounting. If several numbers fit equally well, the date of the file decides. It also decides if the file ends at that
date, as such a file was not copied later. No line was written after the date of its file.

Years are computed from the whole tables, `ops.years` and `dated_by_file_at`, so the order of files does not matter.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date, timedelta

import duckdb

from assets.sources.intake.find.folder import REFUSED, Survey
from assets.sources.reader import Rows
from assets.sources.temp_tables import TempTable
from assets.sources.text import times
from assets.sql import fill, literal

MONTH = timedelta(days=30)
"""How long before or after accounting a log may begin or end."""

Days = tuple[date, date]

SETTLED = TempTable(
    "settled_years", {"cluster_id": "varchar", "path": "varchar", "years_back": "integer", "zone": "varchar"}
)


def years_back(days: Mapping[date, int], accounting: Sequence[Days], *, has_leap_day: bool = False) -> int:
    """Return how many years to move lines back from the date of their file so that most lie within accounting.

    Parameters
    ----------
    days
        Numbers of lines by day, in the year of the file's date.
    accounting
        First and last days of the stretches that accounting covers.
    has_leap_day
        Whether lines are of a 29 February, which only every fourth year has.

    Examples
    --------
    >>> of_2024 = [(date(2024, 1, 1), date(2024, 12, 31))]
    >>> years_back({date(2026, 6, 3): 5}, of_2024), years_back({date(2024, 6, 3): 5}, of_2024)
    (2, 0)
    """
    earliest = min((first for first, _ in accounting), default=None)
    if earliest is None or not days:
        return 0
    candidates = range(0, max(max(days).year - (earliest - MONTH).year, 0) + 1, 4 if has_leap_day else 1)

    def lines_within(back: int) -> int:
        moved = ((_earlier(day, back), count) for day, count in days.items())
        return sum(
            count for day, count in moved if any(first - MONTH <= day <= last + MONTH for first, last in accounting)
        )

    return max(candidates, key=lambda back: (lines_within(back), -back))


def _earlier(day: date, years: int) -> date:
    with suppress(ValueError):
        return day.replace(year=day.year - years)
    return day.replace(year=day.year - years, day=28)


def settle_years(con: duckdb.DuckDBPyConnection, survey: Survey, tables: Mapping[str, Rows]) -> None:
    """Set the years of all lines without a year; the transaction is the caller's."""
    times_of = {table: rows.time for table, rows in tables.items() if rows.may_lack_years and rows.time}
    accounting = _accounting(con)
    changed = []
    for cluster_id, path, days, is_of_file_date, has_leap_day, before in con.execute(
        "select cluster_id, path, days, is_of_file_date, has_leap_day, years_back from ops.years order by all"
    ).fetchall():
        if cluster_id not in survey.clusters:
            continue
        now = 0
        if not is_of_file_date:
            now = years_back(days, accounting[cluster_id], has_leap_day=has_leap_day)
        if now != before:
            changed.append((cluster_id, path, now, survey.clusters[cluster_id].settings.timezone))
    if not changed:
        return
    SETTLED.fill(con, changed)
    con.execute(
        """
        update ops.years set years_back = settled.years_back
        from settled_years as settled where settled.cluster_id = years.cluster_id and settled.path = years.path
        """
    )
    zones = {zone for *_, zone in changed}
    for zone in zones:
        for table, time in times_of.items():
            _move_rows(con, table, time, zone)
        statement = fill(
            "sources/intake/account/years_of_files.sql",
            zone=zone,
            utc=times.utc("local_time", zone),
            local=times.local("moment", zone),
        )
        con.execute(statement)


def _accounting(con: duckdb.DuckDBPyConnection) -> dict[str, list[Days]]:
    """Return the stretches of days with accounting by cluster; files that touch or overlap are one stretch."""
    found: dict[str, list[Days]] = defaultdict(list)
    rows = con.execute(
        f"""
        select cluster_id, first_at::date, last_at::date from ops.files
        where kind = 'sacct' and status <> {literal(REFUSED)} and first_at is not null
        order by all
        """
    ).fetchall()
    for cluster_id, first, last in rows:
        stretches = found[cluster_id]
        if stretches and first <= stretches[-1][1] + MONTH:
            stretches[-1] = (stretches[-1][0], max(stretches[-1][1], last))
        else:
            stretches.append((first, last))
    return found


def _move_rows(con: duckdb.DuckDBPyConnection, table: str, time: str, zone: str) -> None:
    statement = fill(
        "sources/intake/account/years_of_rows.sql",
        table=table,
        time=time,
        zone=zone,
        utc=times.utc("local_time", zone),
        local=times.local("dated_by_file_at", zone),
    )
    con.execute(statement)
