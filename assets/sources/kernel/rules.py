"""The rules of kernel lines: which lines are worth reading, and the kind of fault of each.

The rules are data, `dbt_project/seeds/kernel_rules.csv`, with an example and the source of each. This table decides
which lines are picked out of a log, their kind, and its category. A pattern is in the syntax of RE2, ignores case, and
has `^` at its beginning or nowhere.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).resolve().parents[3] / "dbt_project" / "seeds" / "kernel_rules.csv"

SITE_RULE = "site_rule: "
"""Comes before the pattern of a site's rule in the name of its kind."""
_CONTEXT = r"installed in this system|setting system clock|SXid \("
"""Lines without a rule that others need: the second of three, the time of a boot, an NVSwitch error of a program."""


class KernelRule(NamedTuple):
    """A wording of one kind of fault. The first rule that fits a line applies."""

    rule: str
    """Its name in the tables."""
    kind: str
    """Lines of one kind and device that follow each other closely are one event."""
    pattern: str
    programs: str = ""
    """A pattern for programs that may write the line; empty for the kernel alone."""
    is_of_kernel: bool = True
    """Whether the kernel may write it."""
    repeats: str = ""
    """A pattern for kinds, with their code, whose fault the line repeats."""
    is_evidence: bool = False
    """Whether the line proves its fault; such a line represents an event of several lines."""


def read_rules(table: Path) -> tuple[KernelRule, ...]:
    """Return the rules of a table."""
    with table.open(encoding="utf-8", newline="") as file:
        return tuple(
            KernelRule(
                row["rule"],
                row["kind"],
                row["pattern"],
                row["programs"],
                not row["programs"] or re.fullmatch(row["programs"], "kernel") is not None,
                row["repeats"],
                row["evidence_class"] == "A",
            )
            for row in csv.DictReader(file)
        )


BUILT_IN = read_rules(TABLE)


def of_site(patterns: Sequence[str]) -> tuple[KernelRule, ...]:
    """Return the rules of a site; the kind of each contains its pattern, by which the tables look up the meaning."""
    names = {f"{SITE_RULE}{pattern}": pattern for pattern in patterns}
    return tuple(KernelRule(name, name, pattern) for name, pattern in names.items())


def scanning_pattern(rules: Iterable[KernelRule], *others: str) -> str:
    """Return a pattern that matches all lines, with their envelope, that any rule may fit.

    One pattern rejects the millions of irrelevant lines; `others` are added to it.
    """
    patterns = dict.fromkeys([*(rule.pattern.removeprefix("^") for rule in rules), _CONTEXT, *others])
    return f"(?i){'|'.join(patterns)}"
