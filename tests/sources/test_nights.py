"""The loaded rows depend on the bytes that were seen, and not on the time: a property of nights of a small site.

Files grow, rotate, come late, and are compressed, renamed, cut, completed, replaced, removed and restored. Exports are
overwritten or fail, a cluster comes later, and settings change. `tests.soak` does the same to a home that is refreshed.
"""

from __future__ import annotations

from collections import Counter
from random import Random

import duckdb
import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from assets.sources.formats import READERS
from tests.sources.folders import connect, everything, load, load_results
from tests.sources.nights import Site

TABLES = ("sacct", "slurmctld_events", "kernel_messages", "health_checks", "node_events")
LOGS = ("slurmctld_events", "kernel_messages", "health_checks")
RULES = (
    'timezone = "America/New_York"\n',
    '[[kernel.rules]]\npattern = "link is quiet"\ncategory = "eth_link"\n',
    "",
)


def content(table: str, also: str = "") -> str:
    """Return the columns of a table that depend on the content of a line only, and not on its file."""
    by_file = ", dated_by_file_at" if table in LOGS else ""
    return f"{table}.* exclude (path, line_number{by_file}{also})"


def facts(con: duckdb.DuckDBPyConnection, table: str) -> Counter[str]:
    """Count the loaded rows without their places."""
    rows = con.execute(f"select {content(table)} from raw.{table} where disposition = 'loaded'")
    return Counter(map(repr, rows.fetchall()))


def held(con: duckdb.DuckDBPyConnection, table: str, *, is_present: bool = True) -> Counter[str]:
    """Count all rows of files that are present, or of older versions of files."""
    also = ", disposition, line_count" if table == "kernel_messages" else ", disposition"
    rows = con.execute(
        f"""
        select {content(table, also)}
        from raw.{table} inner join ops.files using (cluster_id, path)
        where if($1, is_present, version_of is not null)
        """,
        [is_present],
    )
    return Counter(map(repr, rows.fetchall()))


def check(rng: Random, nights: int, has_other_rules: bool, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Load random nights one by one, and compare the result with one load of every line that was ever readable.

    If settings change, compare each night with a warehouse that reads every file again each night instead.
    """
    folder, once = tmp_path_factory.mktemp("nights"), tmp_path_factory.mktemp("once")
    ours, again, sites, done = connect(), connect(), [Site(folder / "c1", rng)], list[str]()
    for night in range(nights):
        for site in sites:
            site.night(is_last=night == nights - 1)
            done += site.done
        if has_other_rules:
            (folder / "c1" / "cluster.toml").write_text(rng.choice(RULES))
            load_results(folder, again, READERS, full=True)
        load_results(folder, ours, READERS)
        if has_other_rules:
            assert_equal(everything(ours), everything(again), done)
        elif night == nights - 2:
            sites.append(Site(folder / "c2", rng))
    if has_other_rules:
        return
    before = everything(ours)
    assert not any(result.files_read for result in load_results(folder, ours, READERS).values())
    assert_equal(everything(ours), before, done)
    for site in sites:
        site.write_once(once / site.folder.name)
    at_once = load(once, readers=READERS)
    assert sum(len(facts(at_once, table)) > 0 for table in TABLES) > 2
    for table in TABLES:
        loaded, all_lines = facts(ours, table), facts(at_once, table)
        assert (loaded - all_lines, all_lines - loaded) == ({}, {}), (table, done)
        older, present = held(ours, table, is_present=False), held(ours, table)
        assert older <= (held(at_once, table) - present if table in LOGS else Counter({*older} - {*present})), done


def assert_equal(found: dict[str, list[tuple]], expected: dict[str, list[tuple]], done: list[str]) -> None:
    """Fail with the first table that differs, and with the actions on the files."""
    for table, rows in expected.items():
        assert found[table] == rows, (table, done)


HISTORY = given(rng=st.randoms(use_true_random=False), nights=st.integers(2, 9), has_other_rules=st.booleans())


@settings(phases=[Phase.explicit])
@example(rng=Random(1), nights=4, has_other_rules=False)
@example(rng=Random(2), nights=3, has_other_rules=True)
@HISTORY
def test_nights_leave_what_one_load_of_every_line_does(
    tmp_path_factory: pytest.TempPathFactory, rng: Random, nights: int, has_other_rules: bool
) -> None:
    check(rng, nights, has_other_rules, tmp_path_factory)


@pytest.mark.slow
@settings(max_examples=60, phases=[Phase.reuse, Phase.generate])
@HISTORY
def test_many_nights_leave_what_one_load_of_every_line_does(
    tmp_path_factory: pytest.TempPathFactory, rng: Random, nights: int, has_other_rules: bool
) -> None:
    """A failure shows the actions on the files. The search for a smaller example would take minutes."""
    check(rng, nights, has_other_rules, tmp_path_factory)
