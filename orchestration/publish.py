"""The last step: what passed its checks becomes what readers see, in one atomic rename per file.

It refuses nothing and computes nothing: a refresh that failed a blocking check never gets here, so the last good
publication stays. Readers with an open connection keep the file they opened.
"""

import json
import os
import shutil
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import duckdb

from assets.warehouse import Warehouse
from orchestration.checks import failed_checks
from orchestration.home import Home, code_version
from orchestration.publication import complete_publication, reader_tables
from orchestration.session import RefreshSession

INPUT_HASH = """
    select coalesce(sha256(string_agg(entry, chr(10) order by entry)), sha256(''))
    from (
        select path || ' ' || sha256 as entry from ops.files
        union all
        select cluster_id || ' ' || coalesce(config_sha256, 'defaults') from raw.clusters
    )
"""


def replace_files(pairs: list[tuple[Path, Path]]) -> None:
    """Copy each source beside its target and flush it to disk, then rename all: a reader sees old or new, never half.

    All copies are made before the first rename, so that a full disk changes nothing.
    """
    beside = [target.with_name(f".{target.name}.{os.getpid()}.tmp") for _, target in pairs]
    try:
        for (source, target), copy in zip(pairs, beside, strict=True):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, copy)
            with copy.open("rb+") as file:
                os.fsync(file.fileno())
        for (_, target), copy in zip(pairs, beside, strict=True):
            copy.replace(target)
    finally:
        for copy in beside:
            copy.unlink(missing_ok=True)


def row_counts(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Exact rows of every table a reader sees, by `schema.table`."""
    return {name: con.execute(f"select count(*) from {name}").fetchall()[0][0] for name in reader_tables(con)}


def close_run(con: duckdb.DuckDBPyConnection, run_id: str) -> dict[str, int]:
    """Mark the run as succeeded and record the publication; return the row counts it publishes."""
    now = datetime.now(UTC).replace(tzinfo=None)
    (input_hash,) = con.execute(INPUT_HASH).fetchall()[0]
    counts = row_counts(con)
    con.begin()
    con.execute("update ops.runs set status = 'succeeded', ended_at = ? where run_id = ?", [now, run_id])
    con.execute(
        "insert into ops.published values (?, ?, ?, ?, ?)",
        [run_id, now, input_hash, code_version(), json.dumps(counts)],
    )
    con.commit()
    con.execute("checkpoint")
    return counts


def reopen_run(con: duckdb.DuckDBPyConnection, run_id: str, why: str) -> None:
    """Take back `close_run`: the files could not be replaced."""
    con.execute("update ops.runs set status = 'failed', message = ? where run_id = ?", [why, run_id])
    con.execute("delete from ops.published where run_id = ?", [run_id])


def published_asset(home: Home, upstream: dg.AssetKey) -> dg.AssetsDefinition:
    """Build the asset that publishes a home once everything upstream of it is done."""

    @dg.asset(key=["published", "warehouse"], group_name="published", deps=[upstream], kinds={"duckdb"})
    def warehouse(
        context: dg.AssetExecutionContext, warehouse: Warehouse, session: RefreshSession
    ) -> dg.MaterializeResult:
        """Replace the file that readers open and the report beside it, atomically, after every blocking check.

        One file per home.
        """
        with warehouse.writing() as con:
            failed = failed_checks(con, context.run_id)
            if failed:
                raise dg.Failure(description="\n".join(["blocking checks failed:", *map(str, failed)]))
            counts = close_run(con, context.run_id)
        try:
            with warehouse.writing() as con:
                complete_publication(con)
            replace_files(
                [(home.publication, home.published_file), (home.working_reports / "latest" / "index.html", home.report)]
            )
        except (OSError, duckdb.Error) as error:
            with warehouse.writing() as con:
                reopen_run(con, context.run_id, str(error))
            raise
        return dg.MaterializeResult(
            metadata={
                "tables": len(counts),
                "rows": sum(counts.values()),
                "file": dg.MetadataValue.path(home.published_file),
                "report": dg.MetadataValue.path(home.report),
            }
        )

    return warehouse
