"""Two builds of the dbt project over the same raw tables, and the differences of their rows."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from assets.warehouse import one_value
from orchestration.settings.home import DBT_PROJECT, PROJECT

DBT_ON_SPARK = PROJECT / ".venv-spark" / "bin" / "dbt"
FLOATS = ("DOUBLE", "FLOAT")
ALIKE = {"JSON": "VARCHAR", "TIMESTAMP_S": "TIMESTAMP"}
"""Spark has no JSON and no timestamps of whole seconds. It uses text and timestamps with the same values."""


@dataclass(frozen=True)
class Difference:
    """How one mart differs: in its columns, in its number of rows, or in values of some columns."""

    table: str
    columns: list[tuple[str, str]] = field(default_factory=list)
    row_counts: tuple[int, int] | None = None
    rows_by_column: dict[str, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Return whether there is any difference."""
        return bool(self.columns or self.row_counts or self.rows_by_column)


def build_command(folder: Path) -> list[str | Path]:
    """Return the command that builds and tests the dbt project on Spark; its artifacts and logs go to `folder`."""
    command = [DBT_ON_SPARK, "build", "--target", "spark", "--exclude-resource-type", "unit_test"]
    command += ["--project-dir", DBT_PROJECT, "--profiles-dir", DBT_PROJECT]
    return [*command, "--target-path", folder / "dbt", "--log-path", folder / "logs"]


def build_environment(raw: Path, folder: Path, partitions: int) -> dict[str, str]:
    """Return the environment of a build: the raw tables, the output folder, and the number of shuffle partitions."""
    return {
        "FAULTLINE_RAW": str(raw),
        "FAULTLINE_SPARK": str(folder),
        "FAULTLINE_SPARK_MASTER": "local[2]",
        "FAULTLINE_SPARK_PARTITIONS": str(partitions),
    }


def build_on_spark(raw: Path, folder: Path, cwd: Path) -> dict[str, str]:
    """Run `dbt build` on Spark and return the status of every seed, model and test by its id."""
    cwd.mkdir(parents=True)
    environment = {**os.environ, **build_environment(raw, folder, partitions=2)}
    done = subprocess.run(build_command(folder), env=environment, cwd=cwd, capture_output=True, text=True, check=False)
    results = folder / "dbt" / "run_results.json"
    assert results.exists(), f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return {result["unique_id"]: result["status"] for result in json.loads(results.read_text())["results"]}


def marts_of(manifest: Path) -> list[str]:
    """Return the names of all marts of the project."""
    nodes = json.loads(manifest.read_text())["nodes"].values()
    return sorted(node["name"] for node in nodes if node["resource_type"] == "model" and node["schema"] == "marts")


def read_marts(con: duckdb.DuckDBPyConnection, folder: Path, marts: list[str]) -> None:
    """Create views of Spark's tables in the schema `on_spark`."""
    con.execute("create or replace schema on_spark")
    for mart in marts:
        files = folder / "tables" / "marts.db" / mart / "*.parquet"
        con.execute(f"create or replace view on_spark.{mart} as from read_parquet('{files}')")


def compare(con: duckdb.DuckDBPyConnection, first: str, other: str, table: str) -> Difference:
    """Compare two tables of the same name row by row, floats to 1e-9 of the larger.

    Rows are put in the order of all columns, floats last, so that equal tables meet row by row.
    """
    columns, others = (
        sorted((name, ALIKE.get(kind, kind)) for name, kind, *_ in con.execute(f"describe {schema}.{table}").fetchall())
        for schema in (first, other)
    )
    if columns != others:
        return Difference(table, columns=sorted(set(columns) ^ set(others)))
    counts = tuple(one_value(con, f"select count(*) from {schema}.{table}") for schema in (first, other))
    if counts[0] != counts[1]:
        return Difference(table, row_counts=counts)
    exact = [name for name, kind in columns if kind not in FLOATS]
    floats = [name for name, kind in columns if kind in FLOATS]
    order = ", ".join(f'"{name}"' for name in exact + floats)
    unequal = {name: f'a."{name}" is distinct from b."{name}"' for name in exact} | {
        name: f'(a."{name}" is null) != (b."{name}" is null)'
        f' or abs(a."{name}" - b."{name}") > 1e-9 * greatest(abs(a."{name}"), abs(b."{name}"))'
        for name in floats
    }
    counted = ", ".join(f"count(*) filter (where {rule})" for rule in unequal.values())
    (found,) = con.execute(
        f"select {counted}"
        f" from (select *, row_number() over (order by {order}) as place from {first}.{table}) as a"
        f" inner join (select *, row_number() over (order by {order}) as place from {other}.{table}) as b using (place)"
    ).fetchall()
    return Difference(
        table, rows_by_column={name: number for name, number in zip(unequal, found, strict=True) if number}
    )
