"""The explanation of a node: verdict, failures, outages, what to do, and one timeline of its log entries."""

from __future__ import annotations

import duckdb

from assets.report.explained.nodes import TIMELINE, parts_of_node
from assets.report.numbers import printable, short, words
from assets.report.queries import Row
from assets.report.wording import plural, span
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
        and place_kind != 'gpu_model' and place is not null
    order by place_kind, place
"""
VERDICTS = ("fails more", "fails together", "both")
"""Verdicts of est_location_rates that say something about the nodes of a place."""


def explain_node(con: duckdb.DuckDBPyConnection, subject: Subject) -> Answer:
    """Explain one node."""
    reader = Reader(con, subject.cluster_id)
    node, history = reader.node(subject.key), reader.ask(HISTORY, node=subject.key)
    parts = parts_of_node(node)
    bad = [
        _place(row)
        for row in reader.rows_if_there(PLACES, "est_location_rates", verdicts=VERDICTS)
        if row["place"] == node[row["place_kind"]]
    ]
    parts += [("Its place", " ".join(bad))] if bad else []
    title = f"Node {printable(node['node_name'])} of {printable(subject.cluster_id)}"
    return Answer("node", title, parts, rows={"nodes": [node], "history": history}, columns=TIMELINE)


def _place(row: Row) -> str:
    """Return how a place differs from the others, in words.

    >>> _place({"place_kind": "rack", "place": "r7", "verdict": "both", "ratio": None, "low": 4.0, "high": None,
    ...         "burst_count": 3, "expected_burst_count": 0.25})
    'rack r7 fails at least 4.00 times as often as the rest (where no node but lemons failed), and lost several \
nodes at once 3 times, where chance gives 0.250.'
    """
    parts = []
    if row["verdict"] != "fails together" and row["ratio"] is None:
        parts.append(f"fails at least {short(row['low'])} times as often as the rest (where no node but lemons failed)")
    elif row["verdict"] != "fails together":
        parts.append(f"fails {short(row['ratio'])} times as often as the rest ({span(row['low'], row['high'])})")
    if row["verdict"] != "fails more":
        chance = short(row["expected_burst_count"])
        parts.append(f"lost several nodes at once {plural(row['burst_count'], 'time')}, where chance gives {chance}")
    return f"{words(row['place_kind'])} {printable(row['place'])} {', and '.join(parts)}."
