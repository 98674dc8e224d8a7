"""The rules of kernel lines: which lines are worth reading, and the kind of fault that each tells of.

The rules are data, `dbt_project/seeds/kernel_rules.csv`, which gives an example and the source of each. What is picked
out of a log, what kind a line is of and what category that means all follow from the one table. A pattern is of RE2,
ignores case, and holds `^` at its beginning or nowhere.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from assets.sql import literal

TABLE = Path(__file__).resolve().parents[3] / "dbt_project" / "seeds" / "kernel_rules.csv"

SITE_RULE = "site_rule: "
"""What stands before the pattern of a site's rule in the name of its kind."""
_OF_THE_KERNEL = "kernel"
_CONTEXT = r"installed in this system|setting system clock|SXid \("
"""Lines that no rule knows and others need: the second of three, the time of a boot, an NVSwitch error of a program."""


@dataclass(frozen=True)
class KernelRule:
    """A wording of one kind of fault. The first rule that fits a line holds."""

    rule: str
    """The name by which the tables know it."""
    kind: str
    """Lines of one kind and device that follow each other closely are one event."""
    pattern: str
    programs: str = _OF_THE_KERNEL
    """A pattern of the programs that may write the line."""
    repeats: str = ""
    """A pattern of the kinds, with their code, whose fault the line tells once more."""
    is_evidence: bool = False
    """Whether the line proves its fault; of an event of several lines such a one tells it."""

    @property
    def is_of_the_kernel(self) -> bool:
        """Whether the kernel itself may write it."""
        return re.fullmatch(self.programs, _OF_THE_KERNEL) is not None


def _read() -> tuple[KernelRule, ...]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return tuple(
            KernelRule(
                row["rule"],
                row["kind"],
                row["pattern"],
                row["programs"] or _OF_THE_KERNEL,
                row["repeats"],
                row["evidence_class"] == "A",
            )
            for row in csv.DictReader(file)
        )


BUILT_IN = _read()


def of_site(patterns: Sequence[str]) -> list[KernelRule]:
    """Return the rules of a site; the kind of each names its pattern, and the tables look up what that means."""
    names = {f"{SITE_RULE}{pattern}": pattern for pattern in patterns}
    return [KernelRule(name, name, pattern) for name, pattern in names.items()]


def scan(rules: Sequence[KernelRule], line: str, *others: str) -> str:
    """Return SQL that is true of a whole line, envelope included, that may be worth unwrapping.

    One pattern decides for the millions of lines that say nothing; `others` are joined to it.
    """
    patterns = dict.fromkeys([*(rule.pattern.removeprefix("^") for rule in rules), _CONTEXT, *others])
    return f"regexp_matches({line}, {literal('(?i)' + '|'.join(patterns))})"


def rule_of(rules: Sequence[KernelRule], message: str, tag: str) -> str:
    """Return SQL for the rule of a message of the program `tag`; NULL when it is not worth reading."""
    branches = []
    for rule in rules:
        fits = f"regexp_matches({message}, {literal('(?i)' + rule.pattern)})"
        if not rule.is_of_the_kernel:
            fits += f" and regexp_full_match({tag}, {literal(rule.programs)})"
        branches.append(f"when {fits} then {literal(rule.rule)}")
    return f"case {' '.join(branches)} end"


def kind_of(rules: Sequence[KernelRule], rule: str) -> str:
    """Return SQL for the kind of fault that a rule tells of."""
    branches = [f"when {literal(each.rule)} then {literal(each.kind)}" for each in rules]
    return f"case {rule} {' '.join(branches)} end"


def is_trusted(rules: Sequence[KernelRule], tag: str, kind: str) -> str:
    """Return SQL that is true when the program that wrote the line may state a symptom of this kind."""
    programs = {
        (
            rule.kind,
            rule.programs,
        ): f"({kind} = {literal(rule.kind)} and regexp_full_match({tag}, {literal(rule.programs)}))"
        for rule in rules
        if rule.programs != _OF_THE_KERNEL
    }
    return f"({' or '.join([f'{tag} is null', f'{tag} = {literal(_OF_THE_KERNEL)}', *programs.values()])})"


def repeats(rules: Sequence[KernelRule]) -> str:
    """Return a query of kind and repeats: the kinds whose lines may tell the fault of another once more."""
    found = dict.fromkeys((rule.kind, rule.repeats) for rule in rules if rule.repeats)
    rows = ", ".join(f"({literal(kind)}, {literal(pattern)})" for kind, pattern in found)
    return f"select * from (values {rows}) as told_again (kind, repeats)"


def is_evidence(rules: Sequence[KernelRule], rule: str) -> str:
    """Return SQL that is true of a rule whose lines prove their fault."""
    return f"coalesce({rule} in ({', '.join(literal(each.rule) for each in rules if each.is_evidence)}), false)"
