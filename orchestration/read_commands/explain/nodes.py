"""What a node went through: verdict, failures, outages, what to do, and one timeline of all that logs tell of it."""

from __future__ import annotations

import duckdb

from assets.report.explained.nodes import TIMELINE, parts_of_node
from assets.report.numbers import printable, short, words
from assets.report.wording import span
from assets.sql import fill
from orchestration.read_commands.explain.answers import Answer
from orchestration.read_commands.explain.reading import Reader
from orchestration.read_commands.explain.subjects import Subject

HISTORY = fill(
    "report/explained/timeline.sql",
    nodes="select cluster_id, node_id from marts.dim_nodes where cluster_id = $cluster and node_id = $node",
    limit=0,
)
PLACES = """
    from estimates.est_location_rates
    where cluster_id = $cluster and list_contains($verdicts, verdict)
        and place_kind != 'gpu_model'
    order by place_kind, place
"""
VERDICTS = {
    "fails more": "fails more",
    "fails together": "loses several nodes at once",
    "both": "fails more and loses several nodes at once",
}
"""Verdicts of est_location_rates that tell something about the nodes of a place."""


def explain_node(con: duckdb.DuckDBPyConnection, subject: Subject) -> Answer:
    """Explain one node."""
    reader = Reader(con, subject.cluster_id)
    node, history = reader.node(subject.key), reader.rows(HISTORY, node=subject.key)
    parts = parts_of_node(node)
    bad = [
        f"{words(row['place_kind'])} {printable(row['place'])} {VERDICTS[row['verdict']]}: "
        f"{short(row['ratio'])} times the rate elsewhere ({span(row['low'], row['high'])})."
        for row in reader.rows_if_there(PLACES, "est_location_rates", verdicts=list(VERDICTS))
        if row["place"] == node[row["place_kind"]]
    ]
    parts += [("Its place", " ".join(bad))] if bad else []
    title = f"Node {printable(node['node_name'])} of {printable(subject.cluster_id)}"
    return Answer("node", title, parts, rows={"nodes": [node], "history": history}, columns=TIMELINE)
