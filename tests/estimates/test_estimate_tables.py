"""What holds for every table of schema estimates: named by its path, explained, repeatable, free of infinities."""

import importlib
import re
from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from assets.estimates import prepared as made
from assets.estimates.est_ettr_grid import est_ettr_grid
from assets.estimates.method_version import METHOD_VERSION
from assets.estimates.prepared import QUERIES
from assets.estimates.table import ENOUGH_DATA, NEEDED, Column, TableSpec, publish_without_rows
from assets.not_computed import NOT_COMPUTED
from assets.warehouse import Warehouse
from tests.estimates.five_clusters import ASSETS, read
from tests.homes import ask, change

ROOM = Path(__file__).resolve().parents[2] / "assets" / "estimates"
MODULES = [importlib.import_module(f"assets.estimates.{path.stem}") for path in sorted(ROOM.glob("est_*.py"))]
TABLES = [module.TABLE for module in MODULES]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.TABLE.table)
def test_path_table_and_asset_share_their_name(module):
    name = module.__name__.rsplit(".", 1)[1]
    asset = getattr(module, name)
    assert module.TABLE.table == name
    assert list(asset.key.path) == ["estimates", name]
    assert set(asset.group_names_by_key.values()) == {"estimates"}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.table)
def test_the_asset_waits_for_exactly_the_tables_its_query_reads(table):
    read = tables_in(table.query) - {f"intermediate.{ENOUGH_DATA}"}
    behind = set().union(*(tables_in(QUERIES[name]) for name in behind_of(table.prepared)))
    own = replace(table, columns=tuple(column for column in table.columns if column.name != "has_enough_data"))
    waits_for = {".".join(key.path) for key in own.upstream_keys} - {f"intermediate.{ENOUGH_DATA}"}
    assert read - behind == waits_for - behind


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.table)
def test_every_estimate_of_clusters_waits_for_whether_enough_was_seen(table):
    assert "has_enough_data" in table.column_names
    waits_for = {".".join(key.path) for key in table.upstream_keys}
    assert (f"intermediate.{ENOUGH_DATA}" in waits_for) == (
        "cluster_id" in table.column_names and not table.judges_itself
    )


@pytest.mark.parametrize("name", QUERIES)
def test_a_prepared_table_waits_for_what_it_reads(name):
    assert tables_in(QUERIES[name]) <= {".".join(key.path) for key in getattr(made, name).dependency_keys}


def behind_of(prepared):
    """The prepared tables that a query reads, and those that these read."""
    own = {name for table in prepared for name in QUERIES if f"intermediate.{name}" in tables_in(QUERIES[table])}
    return {*prepared, *behind_of(own)} if own else set(prepared)


def tables_in(query):
    """The tables that a query reads."""
    return set(re.findall(r"(?:from|join)\s+((?:marts|inputs|staging|intermediate|estimates|ops)\.\w+)", query))


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.table)
def test_description_states_the_grain_and_every_number_its_unit(table):
    assert re.search(r"One row per .+\.$", table.description)
    assert set(table.key) <= set(table.column_names)
    for column in table.columns:
        assert column.description
        assert column.unit or column.type in {"varchar", "varchar[]", "boolean", "json"}


def test_what_is_needed_reads_nothing_that_may_be_missing():
    assert {*NEEDED} < {table.table for table in TABLES}
    read = {key.path[1] for table in TABLES if table.table in NEEDED for key in table.upstream_keys}
    assert {name for name in read if name.startswith("est_")} <= {*NEEDED}


@pytest.mark.parametrize(
    ("table", "error", "is_raised"),
    [
        ("est_repairs", MemoryError("of numpy"), False),
        ("est_repairs", duckdb.OutOfMemoryException("Out of Memory Error: it isn't enough; stop"), False),
        ("est_repairs", OSError(28, "No space left on device"), True),
        ("est_repairs", duckdb.IOException("IO Error: Corrupt database file: wrong checksum"), True),
        ("est_repairs", duckdb.InterruptException("INTERRUPT Error: Interrupted!"), True),
        ("est_lemon_nodes", MemoryError("of numpy"), True),
    ],
)
def test_only_what_nothing_needs_is_published_without_rows(tmp_path, table, error, is_raised):
    spec = next(spec for spec in TABLES if spec.table == table)
    with Warehouse(path=str(tmp_path / "w.duckdb")).writing() as con:
        con.execute("create schema estimates")
        con.execute("insert into ops.runs values ('run', now(), null, 'running', 'v', null)")
        if is_raised:
            with pytest.raises(type(error)):
                publish_without_rows(con, spec, error)
            return
        publish_without_rows(con, spec, error)
        reason = f"{type(error).__name__}: {error}"
        assert con.execute(NOT_COMPUTED).fetchall() == [(spec.name, reason, "run")]
        about = "select comment, estimated_size from duckdb_tables() where schema_name = 'estimates'"
        assert con.execute(about).fetchone() == (
            f"{spec.description} It could not be computed and has no rows: {reason}",
            0,
        )
        assert con.execute("select count(*) from ops.lineage").fetchone() > (0,)


def test_lineage_reaches_the_marts(warehouse):
    origins = ask(
        warehouse,
        "select upstream_table, upstream_column from ops.lineage "
        "where table_name = 'estimates.est_mttf_by_size' and column_name = 'mttf_hours' order by all",
    )
    assert ("marts.fct_attempt_exposures", "exposure_seconds") in origins
    assert ("marts.fct_attempt_exposures", "failure_probability") in origins


def test_a_second_run_changes_nothing(warehouse):
    before = [read(warehouse, table.table) for table in TABLES]
    lineage = ask(warehouse, "from ops.lineage order by all")
    for asset in ASSETS:
        asset(warehouse=warehouse)
    assert [read(warehouse, table.table) for table in TABLES] == before
    assert ask(warehouse, "from ops.lineage order by all") == lineage


def test_limits_enclose_values_and_nothing_is_infinite_or_nan(rows):
    for table in TABLES:
        for row in rows(table.table):
            for name, value in row.items():
                assert not isinstance(value, float) or value - value == 0, f"{table.table}.{name} is {value}"
                low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
                if value is not None:
                    assert low is None or low <= value
                    assert high is None or high >= value


def test_the_version_of_the_methods_stands_beside_every_estimate(rows):
    for table in TABLES:
        assert "method_version" in table.column_names
        assert {row["method_version"] for row in rows(table.table)} <= {METHOD_VERSION}


def test_a_missing_value_always_has_a_reason(rows):
    for table, value in [
        ("est_failure_rates", "failures_per_1000_node_days"),
        ("est_mttf_by_size", "mttf_hours"),
        ("est_mttf_projections", "mttf_hours"),
        ("est_ettr_by_size", "ettr_expected"),
        ("est_checkpoint_plans", "probability_ettr_ge_target"),
        ("est_scale_tests", "beta"),
        ("est_rate_changes", "changed_at"),
        ("est_changes", "ratio"),
        ("est_rate_ratios", "ratio"),
        ("est_time_to_failure", "weibull_shape"),
        ("est_evidence_reach", "reach"),
    ]:
        for row in rows(table):
            assert row[value] is not None or row["note"]


def test_a_warehouse_without_clusters_gives_empty_tables(warehouse):
    change(warehouse, "delete from marts.dim_clusters")
    for asset in ASSETS:
        rows = asset(warehouse=warehouse).metadata["dagster/row_count"]
        assert rows == 0 or asset is est_ettr_grid, "only the grid of assumed rates rests on no cluster"


def test_an_apostrophe_in_a_description_survives():
    spec = TableSpec("t", "It's.", ("a",), (Column("a", "double", "hours", "Node's hours."),))
    assert spec.comments == [
        "comment on table estimates.t is 'It''s.'",
        "comment on column estimates.t.a is 'Node''s hours. Unit: hours.'",
    ]
