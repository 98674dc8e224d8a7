"""The sources folder as a resource."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import duckdb

from assets.bad_clusters.errors import is_machine_error
from assets.sources.errors import SourceErrors
from assets.sources.formats import READERS
from assets.sources.intake.find.folder import REFUSED, Progress, Survey, survey
from assets.sources.intake.find.known_files import known_files, with_history
from assets.sources.intake.find.privacy import Privacy

SECONDS_BETWEEN_REPORTS = 1.0


class SourcesFolder(dg.ConfigurableResource):
    """The folder of all clusters.

    Attributes
    ----------
    path
        The folder.
    privacy
        `privacy.json` of the home.
    full
        Read every file again, whatever the warehouse knows of it.
    privacy_key
        The file with the key of pseudonyms.
    """

    path: str
    privacy: str
    full: bool = False
    privacy_key: str = ""

    def has_news(self) -> bool:
        """Return whether to read the folder: always if a user requested it."""
        return True

    def survey(self, con: duckdb.DuckDBPyConnection, log: dg.DagsterLogManager) -> Survey:
        """Look at every file; raise `SourceErrors` with everything that is wrong if no cluster is left to build.

        A file that was read before is opened again only if it changed. A file that was refused is opened again, as a
        new version may read it.
        """
        known = known_files(con)
        return survey(
            Path(self.path),
            READERS,
            known_files={key: file for key, file in known.items() if file.status != REFUSED},
            full=self.full,
            progress=reporter(log),
            with_history=with_history(known),
            privacy=Privacy.of(con, Path(self.privacy), Path(self.privacy_key) if self.privacy_key else None),
        )


@contextmanager
def quoting_no_log(found: Survey) -> Iterator[None]:
    """If a cluster has pseudonyms, remove from an unexpected error whatever it may quote of a log.

    Dagster keeps an error's text and its causes in its history.
    """
    has_pseudonyms = any(cluster.is_pseudonymous for cluster in found.clusters.values()) or found.changed_privacy
    try:
        yield
    except (SourceErrors, AssertionError):
        raise
    except Exception as error:
        if is_machine_error(error) or not has_pseudonyms:
            raise
        if isinstance(error, duckdb.Error):
            raise type(error)(re.sub(r"(['\"`]).*?\1", "'...'", str(error).split("\n", 1)[0])) from None
        raise RuntimeError(f"{type(error).__name__}; its text may quote a log and is not kept") from None


def reporter(log: dg.DagsterLogManager) -> Progress:
    """Return a callback that writes progress to Dagster's log, at most once a second."""
    last = 0.0

    def report(doing: str, done: int, total: int, done_bytes: int, total_bytes: int) -> None:
        nonlocal last
        if done in {0, total} or time.monotonic() - last > SECONDS_BETWEEN_REPORTS:
            last = time.monotonic()
            log.info(f"{doing}: {done:,} of {total:,} files, {done_bytes / 1e6:,.1f} of {total_bytes / 1e6:,.1f} MB")

    return report
