"""What a node went through: verdict, failures, outages, what to do, and one timeline of all that logs tell of it."""

from __future__ import annotations

import duckdb

from assets.report.explained.nodes import TIMELINE, parts_of_node
from assets.report.numbers import printable
from assets.sql import fill
from orchestration.read_commands.explain.answers import Answer
from orchestration.read_commands.explain.reading import Reader
from orchestration.read_commands.explain.subjects import Subject

HISTORY = fill(
    "report/explained/timeline.sql",
    nodes="select cluster_id, node_id from marts.dim_nodes where cluster_id = $cluster and node_id = $node",
    limit=0,
)


def explain_node(con: duckdb.DuckDBPyConnection, subject: Subject) -> Answer:
    """Explain one node."""
    reader = Reader(con, subject.cluster_id)
    node, history = reader.node(subject.key), reader.rows(HISTORY, node=subject.key)
    title = f"Node {printable(node['node_name'])} of {printable(subject.cluster_id)}"
    return Answer("node", title, parts_of_node(node), rows={"nodes": [node], "history": history}, columns=TIMELINE)
