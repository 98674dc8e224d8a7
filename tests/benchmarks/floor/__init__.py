"""The floor: one DuckDB script, in parts, that does by hand what a refresh does, without what makes a product.

A workload whose logs are of another kind has parts of its own in the folder of its name.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

import duckdb

HERE = Path(__file__).parent


def run(sources: Path, target: Path, workload: str) -> None:
    """Read every log below `sources` and write all tables to a new DuckDB file; all clusters have one time zone."""
    target.unlink(missing_ok=True)
    settings = next(sources.glob("*/cluster.toml")).read_text(encoding="utf-8")
    with duckdb.connect(str(target)) as con:
        con.execute("set variable sources = ?", [str(sources)])
        con.execute("set variable timezone = ?", [tomllib.loads(settings)["timezone"]])
        for part in sorted(HERE.glob("*.sql")):
            own = HERE / workload / part.name
            con.execute((own if own.exists() else part).read_text(encoding="utf-8"))
