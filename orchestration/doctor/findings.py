"""A finding of the doctor: what is missing or wrong, where, and the command or line that repairs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rich.text import Text

from orchestration.read_commands.saying import lines_of
from orchestration.terminal.output import say_lines

Level = Literal["error", "warning", "note"]
LEVELS: tuple[Level, ...] = ("error", "warning", "note")
_COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}


@dataclass(frozen=True)
class Finding:
    """One finding. An error keeps a refresh from publishing, or a cluster or a table from getting new numbers.

    `details` are lines that belong below it, such as a difference of two files.
    """

    level: Level
    what: str
    where: str
    next_step: str
    details: tuple[str, ...] = ()
    paste: tuple[str, ...] = ()
    """Lines to paste, as the next step says; they are printed unchanged."""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form; empty `details` and `paste` have no key."""
        return {name: value for name, value in asdict(self).items() if value or name not in ("details", "paste")}


def print_findings(findings: Sequence[Finding], *, shows_rules: bool = False) -> None:
    """Print the findings for people, the worst first; the lines to paste only with `shows_rules`."""
    worst_first = sorted(findings, key=lambda finding: LEVELS.index(finding.level))
    lines = lines_of("doctor", findings=worst_first, levels=LEVELS, shows_rules=shows_rules)
    say_lines(map(_coloured, lines))


def _coloured(line: str) -> Text:
    level, rest = line[:8], line[8:]
    colour = _COLOURS.get(level.rstrip(), "") if level.rstrip() != level else ""
    return Text(level, style=colour) + Text(rest)
