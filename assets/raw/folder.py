"""The sources folder as a resource."""

from __future__ import annotations

import time
from pathlib import Path

import dagster as dg
import duckdb

from assets.sources.formats import READERS
from assets.sources.intake.folder import REFUSED, Progress, Survey, survey
from assets.sources.intake.loading import known_files, with_accounting

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

    def reason_to_skip(self, run: dg.DagsterRun) -> str | None:
        """Say why a run has nothing to do: then it reads nothing, and all that comes after is skipped."""
        return None

    def survey(self, con: duckdb.DuckDBPyConnection, log: dg.DagsterLogManager) -> Survey:
        """Look at every file, or raise `SourceErrors` with all that is wrong where no cluster is left to build.

        What was read before is not opened again unless it changed. What was refused before is: another version may
        read it.
        """
        known = known_files(con)
        return survey(
            Path(self.path),
            READERS,
            known={} if self.full else {key: file for key, file in known.items() if file.status != REFUSED},
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
