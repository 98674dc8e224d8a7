"""Decide whether a refresh has anything new to publish.

The sources folder and the code are compared with those of the published file. A log file with the same size and
modification time is unchanged. A file of another size has changed; if there is one, no file is read. Otherwise the
hash decides, and also the time if rows depend on it. A refused file is unchanged while it is refused for the same
reason. A refresh must run while no cluster can be built, or while a cluster that was built before can no longer be
built, to report it. It must run if the logs of a cluster cannot be fetched any more, or can be fetched again, because
the publication names the stale clusters. It must run if an estimate could not be computed, or if this machine's clock
was behind the records.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import duckdb

from assets.not_computed import NOT_COMPUTED
from assets.sources.errors import SourceErrors
from assets.sources.intake.cluster_failures import failing_by_files
from assets.sources.intake.find.folder import REFUSED, KnownFile, Survey, are_of_known_sizes, is_unchanged, survey
from assets.sources.intake.find.known_files import known_files, with_history
from assets.sources.intake.find.privacy import Privacy
from assets.sources.reader import Reader
from orchestration.publication.folders import newest_publication, pinned_publication, problem_of_current
from orchestration.pull.outcomes import last_outcome
from orchestration.settings.home import Home, code_version
from orchestration.upkeep.healing import problem_of
from orchestration.upkeep.lock import free_of_refresh

FAILED_BY_SOURCES = """
    select cluster_id, list(reason) from ops.cluster_failures
    where stage in ('sources', 'privacy') and run_id = (select run_id from ops.published order by rowid desc limit 1)
    group by cluster_id
"""

NOW_IN_THE_PAST = """
    from ops.files as files
    semi join (from ops.spans where known_by = 'clock') as cut
        on cut.cluster_id = files.cluster_id and cut.to_at < files.last_at
    where files.last_at <= timezone('UTC', now())
    limit 1
"""
"""Records that were in the future by this machine's clock, and are not any more: setting the clock adds no log."""

NOT_PULLED = "select cluster_id from ops.pulls where status = 'failed'"


def is_up_to_date(home: Home, key_file: Path | None = None) -> bool:
    """Return whether a refresh would publish what is already published.

    After a rollback only logs count that the newest publication does not contain.

    Parameters
    ----------
    home
        The home.
    key_file
        The key of pseudonyms.
    """
    # The readers import pyarrow, which a refresh that stops at its settings does not need.
    from assets.sources.formats import READERS

    if not (home.published_file.exists() and home.report.exists()) or problem_of_current(home) or _is_damaged(home):
        return False
    newest = newest_publication(home)
    is_pinned = pinned_publication(home) is not None
    try:
        with duckdb.connect(str(newest.file if newest else home.published_file), read_only=True) as con:
            last = con.execute("select code_version from ops.published order by rowid desc limit 1").fetchone()
            known = known_files(con)
            configured = dict(con.execute("select cluster_id, config_sha256 from raw.clusters").fetchall())
            failed = {name: set(reasons) for name, reasons in con.execute(FAILED_BY_SOURCES).fetchall()}
            not_pulled = {cluster_id for (cluster_id,) in con.execute(NOT_PULLED).fetchall()}
            privacy = Privacy.of(con, home.privacy, key_file)
            is_complete = not (con.execute(NOT_COMPUTED).fetchall() or con.execute(NOW_IN_THE_PAST).fetchall())
    except duckdb.Error:
        # Damaged, or of another version.
        return False
    # A killed refresh is repeated, and so is a refresh of another version.
    is_done = is_complete and last is not None and last[0] == code_version() and not home.unfinished_run.exists()
    if last is None or not (is_done or is_pinned):
        return False
    history = with_history(known)
    try:
        # Most nights have a new or a longer file, which is found without reading any file.
        if not are_of_known_sizes(home.sources, READERS, known, with_history=history, privacy=privacy):
            return False
        found = survey(home.sources, READERS, known, with_history=history, privacy=privacy)
    except SourceErrors:
        return False
    return (
        not home.forgotten.exists()
        and {name: {*map(str, errors)} for name, errors in failing_by_files(found, known).items()} == failed
        and all(
            name in configured and cluster.config_sha256 == configured[name] for name, cluster in found.clusters.items()
        )
        and _failed_pulls(home, found) == not_pulled
        and _files_are_unchanged(found, known, READERS)
    )


def _is_damaged(home: Home) -> bool:
    """Return whether the working file is damaged or may be; while a run holds it, that run decides."""
    if home.damage_suspected.exists():
        return True
    with free_of_refresh(home.lock_file) as holder:
        return holder is None and home.working_file.exists() and problem_of(home.working_file) is not None


def _failed_pulls(home: Home, found: Survey) -> set[str]:
    """Return the clusters whose last pull could not fetch the newest accounting."""
    outcomes = {
        cluster_id: last_outcome(home, cluster_id)
        for cluster_id, cluster in found.clusters.items()
        if cluster.settings.pull is not None
    }
    return {cluster_id for cluster_id, outcome in outcomes.items() if outcome is not None and outcome.is_failed}


def _files_are_unchanged(
    found: Survey, known: Mapping[tuple[str, str], KnownFile], readers: Mapping[str, Reader]
) -> bool:
    """Return whether all files of usable clusters were read before, or refused for the same reason."""
    files = {file.key: file for file in found.files}
    refused = {refusal.file.key: refusal.error.what for refusal in found.refused}
    return (
        files.keys() | refused.keys() == {key for key in known if key[0] in found.clusters and known[key].is_present}
        and all(known[key].reason == reason for key, reason in refused.items())
        and all(
            known[key].status != REFUSED and is_unchanged(file, known[key], readers[file.kind])
            for key, file in files.items()
        )
    )
