"""An answer: a title, texts under headings, answers about parts, and the rows behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from assets.report.explained.failures import Part
from assets.report.queries import Row
from assets.report.tables import Col
from orchestration.read_commands.lineage import Lineage
from orchestration.read_commands.saying import say_answer
from orchestration.terminal import output


@dataclass(frozen=True)
class Answer:
    """An explanation.

    Attributes
    ----------
    kind
        table, column, failure, attempt, node or job.
    parts
        Headings with their texts.
    attempts
        Explanations of the attempts of a job.
    rows
        The rows behind the texts, by the name of the query.
    columns
        The columns of `history`.
    lineage
        The lineage of a table or a column.
    """

    kind: str
    title: str
    parts: list[Part]
    attempts: list[Answer] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    columns: Sequence[Col] = ()
    lineage: Lineage | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        attempts = {"attempts": [attempt.as_json() for attempt in self.attempts]} if self.attempts else {}
        answer = {"kind": self.kind, "title": self.title, "explanation": dict(self.parts), **attempts}
        return answer | {"rows": self.rows} | (asdict(self.lineage) if self.lineage else {})


def print_answer(answer: Answer, limit: int) -> None:
    """Print an explanation, with at most `limit` entries of its history, the latest first."""
    say_answer("explain", answer=answer)
    if history := answer.rows.get("history"):
        output.say("")
        names = [column.heading for column in answer.columns]
        output.print_table(names, [[column.text(row) for column in answer.columns] for row in history[:limit]])
        if len(history) > limit:
            output.say(f"{len(history) - limit:,} earlier entries: raise --limit")
