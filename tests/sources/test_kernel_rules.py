"""Each rule of kernel lines: its example is read from the middle of a log, is of its kind, and of no earlier rule's."""

from __future__ import annotations

import csv
import re

import pytest

from assets.sources.kernel import reader as kernel
from assets.sources.kernel.rules import BUILT_IN, TABLE
from tests.sources.batches import read

with TABLE.open(encoding="utf-8", newline="") as file:
    RULES = list(csv.DictReader(file))

PROGRAMS = {"mmfs\\w*|mmsysmon": "mmfs"}
"""Of rules that are not of the kernel, a program that may write the line."""
BETWEEN = "usb 1-1: new high-speed USB device"


def in_the_middle(lines: list[str], program: str = "kernel") -> str:
    """Write a log in which nothing else is worth reading."""
    messages = [("kernel", BETWEEN)] * 3 + [(program, line) for line in lines] + [("kernel", BETWEEN)] * 3
    return "".join(
        f"2026-03-02T10:00:{second:02}.100000+00:00 n1 {tag}: {message}\n"
        for second, (tag, message) in enumerate(messages)
    )


@pytest.mark.parametrize("rule", RULES, ids=[rule["rule"] for rule in RULES])
def test_the_example_of_a_rule_is_read(rule: dict[str, str]) -> None:
    lines = [rule["example"]]
    if rule["example"] == "NVRM: The NVIDIA GPU 0000:18:00.0":
        lines += [
            "NVRM: (PCI ID: 10de:2901) installed in this system has",
            "NVRM: fallen off the bus and is not responding to commands.",
        ]
    text = in_the_middle(lines, PROGRAMS.get(rule["programs"], "kernel"))
    found = [(row["rule"], row["kind"], row["message"]) for row in read(kernel, text).loaded]
    assert found == [(rule["rule"], rule["kind"], rule["example"])]


def test_patterns_are_found_in_a_whole_line_too() -> None:
    for rule in BUILT_IN:
        assert "^" not in re.sub(r"\[\^", "", rule.pattern.removeprefix("^")), rule.pattern
        assert "$" not in rule.pattern
