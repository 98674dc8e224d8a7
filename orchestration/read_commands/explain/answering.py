"""From a name to its explanation."""

from __future__ import annotations

from pathlib import Path

from orchestration.read_commands.explain.answers import Answer
from orchestration.read_commands.explain.attempts import explain_failure, explain_job
from orchestration.read_commands.explain.columns import explain_column, explain_table
from orchestration.read_commands.explain.nodes import explain_node
from orchestration.read_commands.explain.subjects import resolve
from orchestration.read_commands.published import published

EXPLAIN = {
    "table": explain_table,
    "column": explain_column,
    "failure": explain_failure,
    "node": explain_node,
    "job": explain_job,
}


def explained(path: Path, name: str, cluster_id: str | None = None) -> Answer:
    """Return the explanation of a name in the published file.

    Raises
    ------
    ReadingError
        Nothing is published, the name is unknown, or it is ambiguous.
    """
    with published(path) as con:
        subject = resolve(con, name, cluster_id)
        return EXPLAIN[subject.kind](con, subject)
