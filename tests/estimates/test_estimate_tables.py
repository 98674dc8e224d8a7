"""Rules for every table of schema estimates: named by its path, explained, repeatable, free of infinities."""

import importlib
import re
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from assets.estimates.est_ettr_grid import est_ettr_grid
from assets.estimates.table import ENOUGH_DATA, NEEDED, publish_without_rows
from assets.not_computed import NOT_COMPUTED
from assets.warehouse import Warehouse
from tests.estimates.five_clusters import ASSETS, read
from tests.homes import ask, change

ROOM = Path(__file__).resolve().parents[2] / "assets" / "estimates"
MODULES = [importlib.import_module(f"assets.estimates.{path.stem}") for path in sorted(ROOM.glob("est_*.py"))]
TABLES = [module.TABLE for module in MODULES]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.TABLE.table)
def test_an_estimate_reads_what_it_says(module, warehouse, monkeypatch):
    """At most four inputs, and estimates, as recorded from the connection."""
    table, read = module.TABLE, set()
    tables_read = re.compile(r"\b((?:marts|staging|intermediate|inputs|estimates|ops)\.\w+)")

    class Listening:
        def __init__(self, con):
            self._con = con

        def execute(self, statement, *values):
            if re.match(r"(--.*\n)*(with|from|select)\b", statement):
                read.update(tables_read.findall(statement))
            return self._con.execute(statement, *values)

        def __getattr__(self, name):
            return getattr(self._con, name)

    writing = type(warehouse).writing
    monkeypatch.setattr(type(warehouse), "writing", lambda self: listened(writing(self), Listening))
    getattr(module, table.table)(warehouse=warehouse)
    inputs = {f"inputs.{name}" for name in table.inputs} | {f"estimates.{name}" for name in table.estimates}
    kept = {"ops.checks", "ops.runs", "ops.lineage", "ops.cluster_failures"}
    exception = {name for name in read if name.startswith("marts.")} if table.table == "est_lemon_effects" else set()
    assert read - kept - {f"inputs.{ENOUGH_DATA}"} - exception == inputs - {f"inputs.{ENOUGH_DATA}"}
    assert len(table.inputs) <= 4


@contextmanager
def listened(writing, wrapper):
    with writing as con:
        yield wrapper(con)


def test_every_column_comes_from_columns_that_are_there(warehouse):
    """Names in `Column.inputs`, or the default, name columns of tables that the estimate declares to read."""
    known = set(ask(warehouse, "select schema_name || '.' || table_name, column_name from duckdb_columns()"))
    for table in TABLES:
        reads = {f"inputs.{name}" for name in (*table.inputs, ENOUGH_DATA)}
        reads |= {f"estimates.{name}" for name in table.estimates}
        for _, column, *origin in table.lineage():
            assert tuple(origin) in known, f"{table.table}.{column} comes from {'.'.join(origin)}, which is missing"
            assert origin[0] in reads or table.table == "est_lemon_effects"


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


@pytest.mark.slow
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
        assert rows == 0 or asset is est_ettr_grid, "only the grid of assumed rates uses no cluster"
