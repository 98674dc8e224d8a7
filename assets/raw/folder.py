"""The sources folder as a resource, and the one way in which every raw asset loads its kind of file."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import dagster as dg
import duckdb
from pydantic import PrivateAttr

from assets.sources.errors import SourceError
from assets.sources.formats import READERS
from assets.sources.intake.folder import REFUSED, LookKey, Progress, Survey, survey
from assets.sources.intake.loading import known_files, load_kind, with_accounting
from assets.sources.intake.settling import settle
from assets.sources.intake.sparing import spare_clusters
from assets.sources.reader import SourceFile
from assets.warehouse import Warehouse

SECONDS_BETWEEN_REPORTS = 1.0


class SourcesFolder(dg.ConfigurableResource):
    """The folder of all clusters.

    Attributes
    ----------
    path
        The folder.
    full
        Read every file again, whatever the warehouse knows of it.
    """

    path: str
    full: bool = False
    _looked: dict[LookKey, SourceFile | SourceError] = PrivateAttr(default_factory=dict)

    def look(self, con: duckdb.DuckDBPyConnection, log: dg.DagsterLogManager) -> Survey:
        """Look at every file, or raise `SourceErrors` with all that is wrong where no cluster is left to build.

        What was read before is not opened again unless it changed; what this process looked at, neither. What was
        refused before is: another version may read it.
        """
        known = known_files(con)
        return survey(
            Path(self.path),
            READERS,
            known={} if self.full else {key: file for key, file in known.items() if file.status != REFUSED},
            looked=self._looked,
            progress=reporter(log),
            with_history=with_accounting(known),
        )


def reporter(log: dg.DagsterLogManager) -> Progress:
    """Pass progress on to Dagster's log, at most once a second."""
    last = 0.0

    def report(doing: str, done: int, total: int, size: int) -> None:
        nonlocal last
        if done == total or time.monotonic() - last > SECONDS_BETWEEN_REPORTS:
            last = time.monotonic()
            log.info(f"{doing}: {done:,} of {total:,} files, {size / 1e6:,.1f} MB")

    return report


def load_table(
    context: dg.AssetExecutionContext, warehouse: Warehouse, sources: SourcesFolder, kind: str
) -> dg.MaterializeResult:
    """Bring one kind's table up to date and settle what it changes; the metadata accounts for its lines.

    Clusters that cannot be settled are tried again, and told of, when all tables are there.
    """
    reader = READERS[kind]
    with warehouse.writing() as con:
        found = sources.look(con, context.log)
        result = load_kind(con, found, reader, context.run_id, full=sources.full, progress=reporter(context.log))
        spare_clusters(con, found, partial(settle, con, readers=READERS))
        for warning in result.warnings:
            context.log.warning(warning)
        rows = con.execute(f"select count(*) from raw.{reader.TABLE} where disposition = 'loaded'").fetchone()
        lines = con.execute(
            "select count(*), sum(lines_in), sum(loaded), sum(skipped), sum(quarantined) from ops.files where kind = ?",
            [kind],
        ).fetchone()
    names = ("files", "lines_in", "lines_loaded", "lines_skipped", "lines_quarantined")
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": int(rows[0]) if rows else 0,
            "files_read": result.files_read,
            "files_removed": result.files_removed,
            "files_refused": result.files_refused,
            "files_vanished": result.files_vanished,
            **{name: int(value or 0) for name, value in zip(names, lines or (), strict=True)},
        }
    )
