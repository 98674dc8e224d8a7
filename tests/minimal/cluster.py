"""The minimal clusters of this folder's tests. `python -m tests.minimal.cluster NAME DIR` writes the logs of one."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from pathlib import Path

from tests.logs import Cluster


def all_clusters() -> dict[str, Cluster]:
    """Collect `CLUSTERS` of every test module of this folder.

    Raises
    ------
    ValueError
        If two modules define a cluster of one name.
    """
    clusters: dict[str, Cluster] = {}
    for path in sorted(Path(__file__).parent.glob("test_*.py")):
        own = getattr(importlib.import_module(f"{__package__}.{path.stem}"), "CLUSTERS", {})
        if both := sorted(clusters.keys() & own.keys()):
            raise ValueError(f"{path.name} names clusters that another module names too: {', '.join(both)}")
        clusters |= own
    return clusters


def write_all(sources: Path, names: Iterable[str] = ()) -> None:
    """Write the named clusters of this folder's tests, or all of them, each into its folder below `sources`."""
    clusters = all_clusters()
    for name in names or clusters:
        clusters[name].write(sources / name)


if __name__ == "__main__":
    write_all(Path(sys.argv[2]), [sys.argv[1]])
