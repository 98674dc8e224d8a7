"""The lineage of columns from the statements that dbt compiled."""

import dagster as dg
import pytest

from orchestration.dbt.column_lineage import lineage_metadata, read_lineage, record_lineage

COLUMNS = {"raw.nodes": ["node_id", "gpus"]}


def node(name, schema, *reads, **more):
    """Return the manifest's node of one table."""
    return {
        "name": name, "schema": schema, "database": "published" if schema == "marts" else "working",
        "package_name": "p", "original_file_path": f"{name}.sql", "resource_type": "model", "language": "sql",
        "depends_on": {"nodes": list(reads)}, **more,
    }  # fmt: skip


FITTED = node("fitted", "intermediate", "stg_nodes", language="python", columns={"node_id": {}, "rate": {}})
MODELS = [
    node("dim_nodes", "marts", "stg_nodes", "fitted", "codes"),
    FITTED,
    node("codes", "seeds", resource_type="seed", original_file_path="seeds/xids.csv"),
    node("stg_nodes", "staging", "nodes"),
]
STATEMENTS = {
    "stg_nodes": "select * from working.raw.nodes",
    "dim_nodes": """
        with counted as (select node_id, sum(gpus) as gpu_count from working.staging.stg_nodes group by all),
        rated as (select * exclude (rate), rate * 2 as doubled from working.intermediate.fitted)
        select counted.*, doubled, 'fixed' as origin, codes.name
        from counted inner join rated using (node_id) left join working.seeds.codes on codes.code = gpu_count
    """,
}


def manifest(models):
    sources = {"nodes": node("nodes", "raw", resource_type="source")}
    return {"nodes": {model["name"]: model for model in models}, "sources": sources}


@pytest.fixture
def compiled(tmp_path):
    """Compiled statements of four tables, one with rows of another database."""
    (tmp_path / "p").mkdir()
    for name, statement in STATEMENTS.items():
        (tmp_path / "p" / f"{name}.sql").write_text(statement)
    return tmp_path


def test_columns_are_followed_through_stars_common_expressions_and_two_databases(compiled):
    rows = read_lineage(manifest(MODELS), compiled, COLUMNS, pytest.fail)
    assert rows[:2] == [("staging.stg_nodes", name, "raw.nodes", name) for name in ("gpus", "node_id")]
    assert {row[1:] for row in rows[2:]} == {
        ("node_id", "staging.stg_nodes", "node_id"),
        ("gpu_count", "staging.stg_nodes", "gpus"),
        ("doubled", "intermediate.fitted", "rate"),
        ("name", "seeds.codes", "name"),
    }
    origin = dg.TableColumnDep(asset_key=dg.AssetKey(["staging", "stg_nodes"]), column_name="gpus")
    of_marts = lineage_metadata(rows)["marts.dim_nodes"]["dagster/column_lineage"]
    assert of_marts.deps_by_column["gpu_count"] == [origin]


def test_a_statement_that_cannot_be_read_is_named_and_columns_that_nobody_wrote_down_have_none(compiled):
    (compiled / "p" / "stg_nodes.sql").write_text("select from from")
    (compiled / "p" / "kept.sql").write_text("select *, node_id from working.intermediate.fitted")
    models = [{**FITTED, "columns": {}}, node("kept", "marts", "fitted"), MODELS[-1]]
    warnings = []
    assert read_lineage(manifest(models), compiled, COLUMNS, warnings.append) == []
    (warning,) = warnings
    assert warning.startswith("staging.stg_nodes is published without the lineage of its columns: ")


def test_it_is_read_once_after_a_whole_build_and_then_kept(warehouse, compiled):
    with warehouse.writing() as con:
        counts = []
        for folder in (None, compiled, compiled / "nowhere"):
            record_lineage(con, compiled / "lineage.json", manifest(MODELS[-1:]), folder, pytest.fail)
            counts += con.execute("select count(*) from ops.lineage").fetchone()
    assert counts[0] == 0 < counts[1] == counts[2]
