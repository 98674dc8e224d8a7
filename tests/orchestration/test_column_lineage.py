"""The lineage of columns out of the statements that dbt compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from orchestration.dbt.column_lineage import lineage_metadata, read_lineage, record_lineage

COLUMNS = {"raw.nodes": ["node_id", "gpus"]}


def node(name: str, schema: str, *reads: str, **more: Any) -> dict[str, Any]:
    """What the manifest says of one table."""
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
def compiled(tmp_path: Path) -> Path:
    """What dbt would have compiled of four tables, one of them on the rows of another database."""
    (tmp_path / "p").mkdir()
    for name, statement in STATEMENTS.items():
        (tmp_path / "p" / f"{name}.sql").write_text(statement)
    return tmp_path


def test_columns_are_followed_through_stars_common_expressions_and_two_databases(compiled):
    rows = read_lineage(manifest(MODELS), compiled, COLUMNS, pytest.fail)
    assert rows[:2] == [
        ("staging.stg_nodes", "gpus", "raw.nodes", "gpus"),
        ("staging.stg_nodes", "node_id", "raw.nodes", "node_id"),
    ]
    assert {row[1:] for row in rows[2:]} == {
        ("node_id", "staging.stg_nodes", "node_id"),
        ("gpu_count", "staging.stg_nodes", "gpus"),
        ("doubled", "intermediate.fitted", "rate"),
        ("name", "seeds.codes", "name"),
    }
    origin = dg.TableColumnDep(asset_key=dg.AssetKey(["staging", "stg_nodes"]), column_name="gpus")
    of_marts = lineage_metadata(rows)["marts.dim_nodes"]["dagster/column_lineage"]
    assert of_marts.deps_by_column["gpu_count"] == [origin]


def test_a_statement_that_cannot_be_read_is_named_and_stops_nothing(compiled):
    (compiled / "p" / "stg_nodes.sql").write_text("select from from")
    warnings = []
    assert read_lineage(manifest(MODELS[1:]), compiled, COLUMNS, warnings.append) == []
    (warning,) = warnings
    assert warning.startswith("staging.stg_nodes is published without the lineage of its columns: ")


def test_columns_that_nobody_wrote_down_have_no_lineage(compiled):
    (compiled / "p" / "kept.sql").write_text("select *, node_id from working.intermediate.fitted")
    models = [{**FITTED, "columns": {}}, node("kept", "marts", "fitted"), MODELS[-1]]
    assert {row[0] for row in read_lineage(manifest(models), compiled, COLUMNS, pytest.fail)} == {"staging.stg_nodes"}


def test_it_is_read_once_after_a_whole_build_and_then_kept(warehouse, compiled, tmp_path):
    kept = tmp_path / "column_lineage.json"

    def recorded(folder):
        with warehouse.writing() as con:
            record_lineage(con, kept, manifest(MODELS[-1:]), folder, pytest.fail)
            return con.execute("select count(*) from ops.lineage").fetchall()

    assert (recorded(None), kept.exists()) == ([(0,)], False)
    with warehouse.writing() as con:
        con.execute("create table if not exists raw.nodes (node_id text)")
    first = recorded(compiled)
    assert first > [(0,)]
    (compiled / "p" / "stg_nodes.sql").unlink()
    assert recorded(compiled) == first
