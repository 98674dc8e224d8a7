"""Which cluster the rows of a file belong to, if they name one.

One export may hold the rows of several clusters with the same job ids and node names. If one of them is the folder's,
only its rows are read. If none is, the file is refused. If all rows name one cluster, they are read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import duckdb

from assets.sources.errors import SourceError
from assets.sources.settings import ClusterSettings
from assets.sql import literal

_MAX_NAMES = 5


def files_to_divide(
    con: duckdb.DuckDBPyConnection, cluster: ClusterSettings, named: Iterable[tuple[int, str | None]]
) -> list[int]:
    """Return the files that name the cluster and others; warn of files that name one other cluster only.

    The result depends on each file alone, and not on the order of its rows.

    Parameters
    ----------
    con
        A connection in a batch.
    cluster
        The cluster of the folder.
    named
        Files, each with a name of a cluster in its rows; None for rows that name none.

    Raises
    ------
    SourceError
        A file names several clusters, and the folder's is not among them.
    """
    names: defaultdict[int, set[str]] = defaultdict(set)
    for file_id, name in named:
        if name is not None:
            names[file_id].add(name.lower())
    own = cluster.slurm_cluster.lower()
    for file_id in sorted(file_id for file_id, found in names.items() if own not in found):
        if len(names[file_id]) > 1:
            raise _refusal(con, file_id, sorted(names[file_id]), cluster)
        (name,) = names[file_id]
        told_by = "the folder is" if own == cluster.cluster_id.lower() else "cluster.toml says"
        warning = f"other_cluster: rows say '{name[:80]}', {told_by} '{cluster.slurm_cluster}'"
        con.execute("insert into file_warnings values (?, ?)", [file_id, warning])
    return sorted(file_id for file_id, found in names.items() if own in found and len(found) > 1)


def names_another(name: str, cluster: ClusterSettings) -> str:
    """Return SQL that is true if a row names another cluster."""
    return f"coalesce(lower({name}) <> {literal(cluster.slurm_cluster.lower())}, false)"


def _refusal(con: duckdb.DuckDBPyConnection, file_id: int, names: list[str], cluster: ClusterSettings) -> SourceError:
    listed = ", ".join(name[:80] for name in names[:_MAX_NAMES])
    more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
    (path,) = con.execute("select path from batch_files where file_id = ?", [file_id]).fetchall()[0]
    return SourceError(
        path,
        f"several_clusters: its rows are of {listed}{more}, and none of these is {cluster.slurm_cluster}",
        f"Set slurm_cluster in {cluster.cluster_id}/cluster.toml to Slurm's name of this cluster, or export it alone.",
    )
