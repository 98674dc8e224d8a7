"""A finding of the doctor: what is missing or wrong, where, and the command or line that repairs it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rich.text import Text

from orchestration.terminal import say_lines, visible

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
    """Lines that the next step says to paste; they are printed as they stand."""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form; it has no key for details or lines where there are none."""
        return {name: value for name, value in asdict(self).items() if value or name not in ("details", "paste")}


def print_findings(findings: Sequence[Finding], *, shows_rules: bool = False) -> None:
    """Print the findings for people, the worst first; the lines to paste only with `shows_rules`."""
    if not findings:
        say_lines(["nothing is missing or wrong"])
        return
    for finding in sorted(findings, key=lambda finding: LEVELS.index(finding.level)):
        mark = Text(f"{finding.level:<8}", style=_COLOURS[finding.level])
        details = [f"        {line}" for line in finding.details]
        say_lines([mark + Text(visible(f"{finding.where}: {finding.what}")), *details])
        if finding.paste and not shows_rules:
            command = f"faultline doctor {shlex.quote(finding.where)} --rules"
            say_lines([f"        next: `{command}` prints the lines to paste"])
            continue
        say_lines([f"        next: {finding.next_step}"])
        say_lines(finding.paste)
    counts = {level: sum(finding.level == level for finding in findings) for level in LEVELS}
    say_lines([", ".join(f"{count} {level}{'s' * (count != 1)}" for level, count in counts.items() if count)])
