"""The lineage of columns out of the statements that dbt compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from orchestration.dbt.column_lineage import ColumnLineage, Statements

COLUMNS = {"raw.nodes": ["node_id", "gpus"]}


def node(name: str, schema: str, *reads: str, **more: Any) -> dict[str, Any]:
    """What the manifest says of one table."""
    return {
        "name": name, "schema": schema, "database": "published" if schema == "marts" else "working",
        "package_name": "p", "original_file_path": f"{name}.sql", "resource_type": "model", "language": "sql",
        "depends_on": {"nodes": list(reads)}, **more,
    }  # fmt: skip


MODELS = [
    node("stg_nodes", "staging", "nodes"),
    node("fitted", "intermediate", "stg_nodes", language="python", columns={"node_id": {}, "rate": {}}),
    node("codes", "seeds", resource_type="seed", original_file_path="seeds/xids.csv"),
    node("dim_nodes", "marts", "stg_nodes", "fitted", "codes"),
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


@pytest.fixture
def statements(tmp_path: Path) -> Statements:
    """What dbt would have compiled of four tables, one of them on the rows of another database."""
    (tmp_path / "p").mkdir()
    for name, statement in STATEMENTS.items():
        (tmp_path / "p" / f"{name}.sql").write_text(statement)
    sources = {"nodes": node("nodes", "raw", resource_type="source")}
    return Statements({"nodes": {model["name"]: model for model in MODELS}, "sources": sources}, tmp_path, COLUMNS)


def test_columns_are_followed_through_stars_common_expressions_and_two_databases(statements):
    found = [statements.lineage(f"{model['schema']}.{model['name']}") for model in MODELS]
    assert found[:3] == [
        [("staging.stg_nodes", "gpus", "raw.nodes", "gpus"), ("staging.stg_nodes", "node_id", "raw.nodes", "node_id")],
        [],
        [],
    ]
    assert {row[1:] for row in found[3]} == {
        ("node_id", "staging.stg_nodes", "node_id"),
        ("gpu_count", "staging.stg_nodes", "gpus"),
        ("doubled", "intermediate.fitted", "rate"),
        ("name", "seeds.codes", "name"),
    }


class Context:
    """What a build tells of an output, and the log that is written to."""

    def __init__(self) -> None:
        self.log, self.warnings = self, []

    def warning(self, text: str) -> None:
        self.warnings.append(text)

    def asset_key_for_output(self, name: str) -> dg.AssetKey:
        return dg.AssetKey(name.split("__"))


def test_a_table_without_a_lineage_is_built_all_the_same_and_named(statements, tmp_path):
    (tmp_path / "p" / "stg_nodes.sql").write_text("select from from")
    lineage, context = ColumnLineage(tmp_path / "lineage.json"), Context()
    lineage.read_from(statements)
    for name in ("staging__stg_nodes", "intermediate__fitted", "seeds__codes"):
        event = dg.Output(None, name)
        assert lineage.attach(event, context) is event
    assert [text.partition(":")[0] for text in context.warnings] == [
        "staging.stg_nodes is published without the lineage of its columns"
    ]


def test_columns_that_nobody_wrote_down_have_no_lineage_and_stop_nothing(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "kept.sql").write_text("select *, node_id from working.intermediate.fitted")
    models = [node("fitted", "intermediate", language="python", columns={}), node("kept", "marts", "fitted")]
    statements = Statements({"nodes": {model["name"]: model for model in models}, "sources": {}}, tmp_path, {})
    assert [statements.lineage(name) for name in ("intermediate.fitted", "marts.kept")] == [[], []]


def test_a_build_of_single_tables_keeps_no_lineage_for_the_next_whole_one(tmp_path):
    ColumnLineage(tmp_path / "lineage.json").keep()
    assert not ColumnLineage(tmp_path / "lineage.json").is_known
