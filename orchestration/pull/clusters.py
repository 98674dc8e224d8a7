"""Pull the clusters of a sources folder whose `cluster.toml` has a table `[pull]`, one after the other."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from assets.sources.errors import SourceErrors
from assets.sources.intake.find.folder import cluster_folders
from assets.sources.regular import read_small
from assets.sources.settings import MAX_SETTINGS_BYTES, Pull, Untrusted, read_settings
from orchestration.home import Home
from orchestration.pull.failures import PullRunning
from orchestration.pull.host import Host
from orchestration.pull.outcomes import BUSY, FAILED, is_pseudonymous, keep_outcome
from orchestration.pull.pulling import ClusterPull, Problem, Pulled, Say, Span, say_nothing

EVERYTHING = Span()
"""What the settings and earlier pulls say is due."""


def clusters_to_pull(sources: Path) -> dict[str, Pull | Untrusted]:
    """Return the clusters that are pulled, with their settings or the reason why these are not obeyed.

    A `cluster.toml` that is wrong has no settings. Only files that have the word are read: homes without a pull lose no
    time.
    """
    try:
        folders = cluster_folders(sources)
    except SourceErrors:
        return {}
    found: dict[str, Pull | Untrusted] = {}
    for folder in folders:
        try:
            is_mentioned = b"pull" in read_small(folder / "cluster.toml", MAX_SETTINGS_BYTES)
        except OSError:
            continue
        cluster, wrong = read_settings(folder, folder.name) if is_mentioned else (None, [])
        if cluster is not None and not wrong and cluster.pull is not None:
            found[folder.name] = cluster.pull
    return found


def pull_cluster(
    cluster_id: str,
    folder: Path,
    pull: Pull | Untrusted,
    *,
    span: Span = EVERYTHING,
    say: Say = say_nothing,
) -> Pulled:
    """Pull one cluster; whatever goes wrong is among the problems of the result."""
    if isinstance(pull, Untrusted):
        return Pulled(cluster_id, FAILED, problems=[Problem("", f"[pull] is not obeyed: {pull.what}", pull.next_step)])
    now = datetime.now(UTC).replace(microsecond=0)
    try:
        return ClusterPull(cluster_id, folder, pull, Host(pull), now=now, say=say).run(span)
    except PullRunning as error:
        return Pulled(cluster_id, BUSY, problems=[Problem("", error.what, error.next_step)])
    except OSError as error:
        step = "make room there" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "make it writable for this user"
        place = error.filename or folder
        what = f"{place} cannot be written ({error.strerror}); what was fetched before stays as it is"
        return Pulled(cluster_id, FAILED, problems=[Problem("", what, f"{step}, then pull again")])


def pull_all(clusters: Mapping[str, Pull | Untrusted], home: Home, say: Say) -> list[Pulled]:
    """Pull clusters, one after the other, and keep how each pull ended; nothing is said of clusters with pseudonyms."""
    found = []
    for cluster_id, pull in clusters.items():
        # What is said here is kept in the log of the run.
        own = say_nothing if is_pseudonymous(home, cluster_id) else say
        found.append(pull_cluster(cluster_id, home.sources / cluster_id, pull, say=own))
        keep_outcome(home, cluster_id, found[-1].outcome())
    return found
