"""The messages of slurmctld that bear on failures, preemption and drains.

They are data, `wordings.csv`: the kind of a message, words in it, the pattern that reads it, and the state that it
sets. The first pattern that fits applies. Wordings are those of Slurm's source from 18.08 on. Named groups are
columns.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import NamedTuple

_JOB = r"JobId=(?:(?P<{name}_array>\d+)_\*|\d+[_+]\d+(?:\((?P<{name}>\d+)\))?|(?P<{name}_shown>\d+))"
"""A job is shown as 12, 12_3(15) or 12+1(13): the number in parentheses is its own id. 12_* stands for all waiting
tasks of array 12 together; which of them is meant, and therefore its own id, is unknown."""
_PARTS = {
    "function": r"^(?:\w+: )?",
    "job": _JOB.format(name="job"),
    "instigator": _JOB.format(name="instigator"),
    "nodes": r"(?P<nodes>[\w.\-\[\],]+)",
    # Of Slurm's marks after a state, `$` is kept when a node drains: it is in a reservation for maintenance.
    "state": r"(?P<state>DRAIN[A-Z]*[$]|[A-Z_+*]+)",
}
"""Parts of patterns by their placeholders in the table."""


class Wording(NamedTuple):
    """One row of the table."""

    kind: str
    words: str
    pattern: str
    groups: tuple[str, ...]
    """The names of the pattern's groups in order; DuckDB names groups by order."""
    state: str


def groups_of(pattern: str) -> tuple[str, ...]:
    """Return the names of a pattern's groups in order."""
    return tuple(re.findall(r"\?P<(\w+)>", pattern))


def _read() -> tuple[Wording, ...]:
    with Path(__file__).with_name("wordings.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row, row["pattern"].format_map(_PARTS)) for row in csv.DictReader(file)]
    return tuple(Wording(row["kind"], row["words"], text, groups_of(text), row["state"]) for row, text in rows)


WORDINGS = _read()
RELEVANT = "|".join(dict.fromkeys(wording.words for wording in WORDINGS))
"""Matches words that every line worth reading contains."""
