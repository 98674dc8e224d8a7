"""Inputs of several estimates, made once from all attempts: sums by day and size, and the failures."""

import pytest

from assets.warehouse import Warehouse
from tests.warehouses import create_tables

EXPOSURES = """
insert into marts.dim_study_gaps by name
select 'site' as cluster_id, timestamp '2026-03-10' as from_at, timestamp '2026-03-12' as to_at;
insert into marts.fct_attempt_exposures by name
from (values
    ('within a day', 8, true, 43200.0, 0.0, 0.5, '2026-03-01 06:00', '2026-03-01 18:00', 0.0, 'COMPLETED', false),
    ('over midnight', 8, true, 86400.0, 0.0, 2.0, '2026-03-01 18:00', '2026-03-02 18:00', 0.25, 'FAILED', true),
    ('over a gap', 16, false, 345600.0, 172800.0, 8.0, '2026-03-08', '2026-03-14', 0.0, 'FAILED', false),
    ('at midnight', 8, true, 21600.0, 0.0, 0.25, '2026-03-02 18:00', '2026-03-03 00:00', 0.0, 'FAILED', false),
    ('unknown nodes', 8, null, 3600.0, 0.0, null, '2026-03-01 06:00', '2026-03-01 07:00', 0.0, 'COMPLETED', false),
    ('still running', 8, null, null, 0.0, null, '2026-03-02 06:00', null, 0.0, 'RUNNING', false)
) as attempts (
    attempt_id, gpu_size_bin, is_whole_node, exposure_seconds, gap_seconds, node_days, seen_from_at, seen_to_at,
    failure_probability, state, is_paper_failure
);
update marts.fct_attempt_exposures
set
    cluster_id = 'site',
    entry_seconds = 0,
    exit_seconds = exposure_seconds + gap_seconds,
    gpu_hours = node_days * 8 * 24,
    has_ended = state != 'RUNNING';
"""


@pytest.fixture(scope="module")
def con(tmp_path_factory):
    with Warehouse(path=str(tmp_path_factory.mktemp("prepared") / "faultline.duckdb")).writing() as con:
        create_tables(con)
        con.execute(EXPOSURES)
        yield con


def days(con, *columns, where):
    read = f"strftime(day_date, '%d'), {', '.join(columns)}"
    found = con.execute(f"select {read} from inputs.inp_exposure_days_summed where {where} order by 1").fetchall()
    return [(day, *(float(value) if value is not None else None for value in values)) for day, *values in found]


def test_what_runs_over_midnight_belongs_to_each_day_by_its_time(con):
    """0.5 node-days, and a quarter of 2.0; the rest of it on the second day, with a quarter of a day that ends at 0:00.

    An attempt counts once, on the day on which it begins.
    """
    columns = ("attempt_count", "exposure_seconds", "node_days", "gpu_hours", "unexplained_count")
    assert days(con, *columns, where="is_whole_node and node_days > 0") == [
        ("01", 2, 43200 + 21600, 1.0, 192.0, 0),
        ("02", 1, 64800 + 21600, 1.75, 336.0, 1),
    ]


def test_what_runs_over_a_gap_is_no_exposure_in_it(con):
    """8 node-days in four of six days: 2 on each; it counts on the day on which it was seen again."""
    assert days(con, "attempt_count", "node_days", where="gpu_size_bin = 16 and node_days > 0") == [
        ("08", 0, 2.0),
        ("09", 0, 2.0),
        ("12", 1, 2.0),
        ("13", 0, 2.0),
    ]


def test_unknown_exposure_is_counted_beside_the_sums(con):
    columns = (
        "exposed_count", "exposed_without_nodes_count", "without_gpu_hours_count", "unmeasured_running_count",
        "exposure_seconds", "exposure_seconds_with_nodes", "node_days",
    )  # fmt: skip
    assert days(con, *columns, where="is_whole_node is null") == [
        ("01", 1, 1, 1, 0, 3600, None, None),
        ("02", 0, 0, 1, 1, None, None, None),
    ]


def test_failures_are_those_that_may_be_some(con):
    assert con.execute("select attempt_id from inputs.inp_exposures_failed").fetchall() == [("over midnight",)]


# Two jobs on four nodes each share one switch, which fails; a third job of the day fails by itself.
SWITCH = """
insert into marts.fct_attempt_exposures by name
select
    'hall' as cluster_id, attempt_id, 'i1' as incident_id, culprit_node_id, failure_probability,
    true as is_paper_failure, timestamp '2026-03-05 12:00' + to_minutes(late) as failed_at
from (values ('a', 'n0', 1.0, 0), ('b', null, 0.8, 5)) as jobs (attempt_id, culprit_node_id, failure_probability, late);
insert into marts.fct_attempt_exposures by name
select
    'hall' as cluster_id, 'c' as attempt_id, 'i2' as incident_id, 'n0' as culprit_node_id, 1.0 as failure_probability,
    true as is_paper_failure, timestamp '2026-03-05 20:00' as failed_at;
insert into marts.fct_incidents by name
select 'hall' as cluster_id, unnest(['i1', 'i2']) as incident_id, 8 as touched_node_count;
insert into marts.fct_attempt_nodes by name
select 'hall' as cluster_id, if(n < 4, 'a', 'b') as attempt_id, 'n' || n as node_id
from range(8) as nodes (n);
insert into marts.fct_attempt_nodes by name
select 'hall' as cluster_id, 'c' as attempt_id, 'n' || n as node_id from range(10) as nodes (n);
"""


def outages(con, *rows):
    con.execute("delete from marts.fct_node_outages")
    for node, minutes, is_planned in rows:
        con.execute(
            "insert into marts.fct_node_outages by name select 'hall' as cluster_id, $n as node_id, $p as is_planned, "
            "timestamp '2026-03-05 12:00' + to_seconds($m * 60) as started_at",
            {"n": f"n{node}", "m": minutes, "p": is_planned},
        )


def struck(con):
    rows = con.execute(
        "select incident_id, expected_count, failure_count from inputs.inp_node_incidents_counted "
        "where cluster_id = 'hall' order by incident_id"
    )
    return rows.fetchall()


def test_an_incident_counts_every_node_that_it_took_down(con):
    """One switch takes down eight nodes: four of a job that certainly failed by it, four of one at 0.8."""
    con.execute(SWITCH)
    outages(con)
    assert struck(con) == [("i1", 1.0, 2), ("i2", 1.0, 1)]
    outages(con, *((node, 1, False) for node in range(8)))
    assert struck(con) == [("i1", pytest.approx(4 + 4 * 0.8), 2), ("i2", 1.0, 1)]


def test_outages_that_are_planned_or_elsewhere_or_at_another_time_are_none_of_the_incident(con):
    """From 10 minutes before its first failure to 15 minutes after its last, at 12:05; the culprit counts once."""
    outages(con, (0, 1, False), (1, -11, False), (2, 21, False), (3, 1, True), (9, 1, False))
    assert struck(con)[0] == ("i1", 1.0, 2)
    outages(con, (0, 1, False), (1, -10, False), (2, 20, False))
    assert struck(con)[0] == ("i1", 3.0, 2)
