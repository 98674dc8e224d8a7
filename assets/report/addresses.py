"""Addresses inside the report: `#<cluster>/<page>`, followed by `/<filter>=<value>` of a table or by a scenario."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import quote

from assets.report.numbers import printable
from assets.report.queries import Row

SHARED_PAGES = {"index", "methods", "provenance", "main", "theme"}
"""Addresses that no cluster gets, because pages and parts of the frame have them."""


def anchor_of(cluster_id: str) -> str:
    """Return the address of a cluster; no two names have the same.

    >>> anchor_of("rsc1")
    'rsc1'
    >>> anchor_of("a b").startswith("a-b-"), anchor_of("methods") == "methods"
    (True, False)
    """
    plain = re.sub(r"[^A-Za-z0-9_-]", "-", cluster_id)
    if plain == cluster_id and plain not in SHARED_PAGES:
        return plain
    return f"{plain}-{hashlib.sha256(cluster_id.encode()).hexdigest()[:8]}"


def of_node(row: Row) -> str:
    """Return the address of the failures of one node.

    >>> of_node({"cluster_id": "demo", "node_name": "a b/1"})
    '#demo/failures/node=a%20b%2F1'
    """
    return _failures(row, "node", printable(row["node_name"]))


def of_cause(row: Row) -> str:
    """Return the address of the failures of one cause."""
    return _failures(row, "cause", printable(row["label"]))


def of_failure(row: Row) -> str:
    """Return the address of one failure with its evidence."""
    return _failures(row, "failure", row["attempt_id"])


def _failures(row: Row, kind: str, value: str) -> str:
    return f"#{anchor_of(row['cluster_id'])}/failures/{kind}={quote(value, safe='')}"
