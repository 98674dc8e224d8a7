"""Slurm's node lists: `gpu[001-003,007],login1` to names and back, and the step that expands those of a whole batch.

Lists repeat far more often than rows: the distinct ones are expanded once in Python and joined back in SQL.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby

import duckdb
import pyarrow as pa

from assets.sources.reading import Step

MAXIMUM_HOSTS = 100_000
NOTHING = frozenset({"", "none assigned", "(null)", "none", "n/a", "unknown"})
_NAME = re.compile(r"[A-Za-z0-9_.\-]+")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")
_BALANCED = re.compile(r"[^\[\]]*+(?:\[[^\[\]]*+\][^\[\]]*+)*+")
_GROUP_OR_COMMA = re.compile(r"\[[^\]]*\]|,")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


class NodeListError(ValueError):
    """A node list that cannot be expanded; `reason` is bad_nodelist or nodelist_too_large."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        super().__init__(detail)


def split_outside_brackets(text: str) -> list[str]:
    """Split at the commas that are not inside brackets."""
    if _BALANCED.fullmatch(text) is None:
        raise NodeListError("bad_nodelist", f"unbalanced brackets in {text[:200]!r}")
    parts, start = [], 0
    for found in _GROUP_OR_COMMA.finditer(text):
        if found[0] == ",":
            parts.append(text[start : found.start()])
            start = found.end()
    parts.append(text[start:])
    return parts


@lru_cache(maxsize=8)
def _spelled(width: int) -> tuple[str, ...]:
    """Spell the first numbers with zeros up to a width: few are left to spell one by one."""
    return tuple(str(number).zfill(width) for number in range(10_000))


@lru_cache(maxsize=4096)
def _numbers(inside: str) -> tuple[str, ...]:
    """Expand what stands between brackets, `001-003,7`, keeping the zeros."""
    numbers: list[str] = []
    for part in inside.split(","):
        if part.isdecimal() and part.isascii() and len(numbers) < MAXIMUM_HOSTS:
            numbers.append(part)
            continue
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise NodeListError("bad_nodelist", f"not a range of numbers: {part[:80]!r}")
        first, last = match[1], match[2] or match[1]
        low, high = int(first), int(last)
        if high < low:
            raise NodeListError("bad_nodelist", f"range runs backwards: {part[:80]!r}")
        if high - low + 1 + len(numbers) > MAXIMUM_HOSTS:
            raise NodeListError("nodelist_too_large", f"{part[:80]!r} names more than {MAXIMUM_HOSTS} hosts")
        width = len(first) if first.startswith("0") else 0
        spelled = _spelled(width)
        if high < len(spelled):
            numbers.extend(spelled[low : high + 1])
        else:
            numbers.extend(str(number).zfill(width) for number in range(low, high + 1))
    return tuple(numbers)


def _expand_one(pattern: str) -> list[str]:
    """Expand one comma-free pattern with any number of bracket groups and a suffix, `r[1-2]n[01-04]-ib`."""
    pieces = re.split(r"\[([^\]]*)\]", pattern)
    names = [pieces[0]]
    for inside, literal in zip(pieces[1::2], pieces[2::2], strict=True):
        numbers = _numbers(inside)
        if len(names) * len(numbers) > MAXIMUM_HOSTS:
            raise NodeListError("nodelist_too_large", f"{pattern[:80]!r} names more than {MAXIMUM_HOSTS} hosts")
        names = [name + number for name in names for number in numbers]
        if literal:
            names = [name + literal for name in names]
    if _NAME.fullmatch(names[0]) is None:
        raise NodeListError("bad_nodelist", f"not a node name: {names[0][:80]!r}")
    return names


def expand(text: str) -> list[str]:
    """Expand a node list in the order written; nothing assigned gives an empty list.

    >>> expand("gpu[001-003,007],login1")
    ['gpu001', 'gpu002', 'gpu003', 'gpu007', 'login1']
    >>> expand("None assigned")
    []
    """
    text = text.strip()
    if text.lower() in NOTHING:
        return []
    names: list[str] = []
    for pattern in split_outside_brackets(text):
        if not pattern:
            raise NodeListError("bad_nodelist", f"empty name in {text[:200]!r}")
        names.extend(_expand_one(pattern))
        if len(names) > MAXIMUM_HOSTS:
            raise NodeListError("nodelist_too_large", f"more than {MAXIMUM_HOSTS} hosts in {text[:80]!r}")
    return list(dict.fromkeys(names))


def folded(names: list[str]) -> str:
    """Write node names as Slurm does: one bracket per name and number width, runs of numbers with a dash.

    Not every release of Slurm reads a name that goes on behind its bracket; such names are written out.

    >>> folded(["gpu009", "gpu010", "gpu003", "login", "gpu011"])
    'gpu[003,009-011],login'
    """
    parts = {name: re.fullmatch(r"(.*?)(\d+)", name) for name in names}
    written = [name for name, part in parts.items() if part is None]
    numbered = sorted((part[1], len(part[2]), int(part[2])) for part in parts.values() if part)
    for (prefix, width), members in groupby(numbered, key=lambda one: one[:2]):
        numbers = [one[2] for one in members]
        runs = [
            [number for _, number in run] for _, run in groupby(enumerate(numbers), key=lambda one: one[1] - one[0])
        ]
        spans = [f"{run[0]:0{width}}" + (f"-{run[-1]:0{width}}" if len(run) > 1 else "") for run in runs]
        written.append(f"{prefix}{spans[0]}" if len(numbers) == 1 else f"{prefix}[{','.join(spans)}]")
    return ",".join(sorted(written))


def plain(names: list[str]) -> list[str]:
    """Leave out the names that a shell or Slurm would read as something else.

    >>> plain(["gpu009", "-x", "$(reboot)"])
    ['gpu009']
    """
    return [name for name in names if _PLAIN_NAME.fullmatch(name)]


def exclude_option(names: list[str]) -> str | None:
    """Write the option that keeps a job off these nodes; None where no name can stand on a command line.

    >>> exclude_option(["gpu009", "gpu010", "-x"])
    '--exclude=gpu[009-010]'
    """
    usable = plain(names)
    return f"--exclude={folded(usable)}" if usable else None


def expansion_table(lists: list[str]) -> pa.Table:
    """Expand distinct lists into a table (node_list, node_names, problem, problem_detail)."""
    names: list[str] = []
    ends = [0]
    problems: list[str | None] = []
    details: list[str | None] = []
    for text in lists:
        try:
            names.extend(expand(text))
            problems.append(None)
            details.append(None)
        except NodeListError as error:
            problems.append(error.reason)
            details.append(str(error))
        ends.append(len(names))
    unread = pa.array([problem is not None for problem in problems], pa.bool_())
    return pa.table(
        {
            "node_list": pa.array(lists, pa.string()),
            "node_names": pa.ListArray.from_arrays(
                pa.array(ends, pa.int32()), pa.array(names, pa.string()), mask=unread
            ),
            "problem": pa.array(problems, pa.string()),
            "problem_detail": pa.array(details, pa.string()),
        }
    )


def expansion_step(distinct_lists: str, into: str) -> Step:
    """Give the step that expands lists into a temp table.

    Parameters
    ----------
    distinct_lists
        A query of one column of distinct texts; NULLs are left out.
    into
        Temp table to make: node_list, node_names varchar[] (NULL when it cannot be expanded), problem (NULL,
        bad_nodelist or nodelist_too_large), problem_detail.
    """

    def expand_lists(con: duckdb.DuckDBPyConnection) -> None:
        lists = [row[0] for row in con.execute(distinct_lists).fetchall() if row[0] is not None]
        con.register("expanded_node_lists", expansion_table(lists))
        try:
            con.execute(f"create or replace temp table {into} as select * from expanded_node_lists")
        finally:
            con.unregister("expanded_node_lists")

    return expand_lists
