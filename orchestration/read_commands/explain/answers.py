"""What a question gets: a title, texts under headings, answers about parts, and the rows that it rests on."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from assets.report.explained.failures import Part
from assets.report.queries import Row
from assets.report.tables import Col
from orchestration import terminal
from orchestration.read_commands.lineage import Lineage, lines_of

INDENT = 28
WRAP = textwrap.TextWrapper(100, break_long_words=False, break_on_hyphens=False)


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
        What the texts rest on, by the name of the query.
    columns
        How the rows of `history` are shown.
    lineage
        What a table or a column is made of.
    """

    kind: str
    title: str
    parts: list[Part]
    attempts: list[Answer] = field(default_factory=list)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    columns: Sequence[Col] = ()
    lineage: Lineage | None = None

    def as_json(self) -> dict[str, Any]:
        """Give what programs read."""
        attempts = {"attempts": [attempt.as_json() for attempt in self.attempts]} if self.attempts else {}
        answer = {"kind": self.kind, "title": self.title, "explanation": dict(self.parts), **attempts}
        return answer | {"rows": self.rows} | (asdict(self.lineage) if self.lineage else {})

    def lines(self) -> Iterator[str]:
        """Give what people read, but for the history."""
        yield self.title
        for heading, text in self.parts:
            lines = [line for paragraph in text.split("\n") for line in WRAP.wrap(paragraph)]
            yield from (f"  {heading if at == 0 else '':<{INDENT}}{line}" for at, line in enumerate(lines))
        for attempt in self.attempts:
            yield ""
            yield from attempt.lines()
        if self.lineage and (self.lineage.edges or self.lineage.files):
            yield ""
            yield from lines_of(self.lineage)


def print_answer(answer: Answer, limit: int) -> None:
    """Print an explanation; of a history the latest entries."""
    terminal.say_lines(answer.lines())
    if history := answer.rows.get("history"):
        terminal.say("")
        names = [column.heading for column in answer.columns]
        terminal.print_table(names, [[column.text(row) for column in answer.columns] for row in history[:limit]])
        if len(history) > limit:
            terminal.say(f"{len(history) - limit:,} earlier entries: raise --limit")
