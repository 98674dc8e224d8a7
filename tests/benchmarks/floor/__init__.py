"""The floor: one DuckDB script, in parts, that does by hand what a refresh does, without what makes a product."""

from __future__ import annotations

import tomllib
from pathlib import Path

import duckdb


def run(sources: Path, target: Path) -> None:
    """Read every log below `sources` and write all tables to a new DuckDB file; all clusters have one time zone."""
    target.unlink(missing_ok=True)
    settings = next(sources.glob("*/cluster.toml")).read_text(encoding="utf-8")
    with duckdb.connect(str(target)) as con:
        con.execute("set variable sources = ?", [str(sources)])
        con.execute("set variable timezone = ?", [tomllib.loads(settings)["timezone"]])
        for part in sorted(Path(__file__).parent.glob("*.sql")):
            con.execute(part.read_text(encoding="utf-8"))
