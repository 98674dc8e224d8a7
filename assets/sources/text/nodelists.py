"""Slurm's node lists: expand `gpu[001-003,007],login1` to names, and the step that expands all lists of a batch.

Most lists are repeated: each distinct one is expanded once in Python and joined back in SQL.
A few characters can name any number of nodes, so names are counted before a list is expanded, and their total in a
batch is bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

import duckdb
import pyarrow as pa

from assets.sources.temp_tables import TempTable

MAXIMUM_HOSTS = 100_000
"""Most hosts in a list; Slurm itself allows 65,536."""
MAX_NAME_LENGTH = 255
"""No host name may be longer."""
LARGE = 2048
"""A list with more nodes is large: how often it is printed and how many nodes its jobs state are checked."""
MAX_NODES = 131_072
"""Most distinct names in the lists of a batch: twice as many as Slurm can manage."""
MAX_LARGE_NAMES = 20_000_000
"""Most nodes in all large lists of a batch, each list counted as often as it is printed."""
MAX_LARGE_ROWS = 1_000_000
"""The same for lists whose names become rows."""
MAX_NAMES = 50_000_000
"""Most nodes in all lists of a batch, each list counted once."""
SPARE_NAMES, SPARE_FACTOR = 100, 10
"""A list names far more nodes than a job has if it names this many more and ten times as many."""
NAMES_AT_ONCE = 1_000_000
"""Nodes that are expanded at a time before they go to DuckDB, which can put them on disk."""
NOTHING = frozenset({"", "none assigned", "(null)", "none", "n/a", "unknown"})
_NAME = re.compile(r"[A-Za-z0-9_.\-]+")
_BALANCED = re.compile(r"[^\[\]]*+(?:\[[^\[\]]*+\][^\[\]]*+)*+")
_GROUP_OR_COMMA = re.compile(r"\[[^\]]*\]|,")
_RANGE = re.compile(r"(\d+)(?:-(\d+))?")


class NodeListError(ValueError):
    """A node list that cannot be expanded; `reason` is bad_nodelist or nodelist_too_large."""

    def __init__(self, reason: str, detail: str) -> None:
        self.reason = reason
        super().__init__(detail)


def split_outside_brackets(text: str) -> list[str]:
    """Return the parts of a text between commas that are not inside brackets."""
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
    """Return the first numbers, padded with zeros, from a cache."""
    return tuple(str(number).zfill(width) for number in range(10_000))


@lru_cache(maxsize=256)
def _numbers(inside: str, most: int) -> tuple[str, ...]:
    """Return the numbers of the text between brackets, such as `001-003,7`, with their zeros."""
    numbers: list[str] = []
    for part in inside.split(","):
        if len(part) <= MAX_NAME_LENGTH and part.isdecimal() and part.isascii() and len(numbers) < most:
            numbers.append(part)
            continue
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise NodeListError("bad_nodelist", f"not a range of numbers: {part[:80]!r}")
        first, last = match[1], match[2] or match[1]
        if max(len(first), len(last)) > MAX_NAME_LENGTH:
            raise _too_long(part)
        low, high = int(first), int(last)
        if high < low:
            raise NodeListError("bad_nodelist", f"range runs backwards: {part[:80]!r}")
        if high - low + 1 + len(numbers) > most:
            raise _too_large(part, most)
        width = len(first) if first.startswith("0") else 0
        spelled = _spelled(width)
        if high < len(spelled):
            numbers.extend(spelled[low : high + 1])
        else:
            numbers.extend(str(number).zfill(width) for number in range(low, high + 1))
    return tuple(numbers)


def _too_long(part: str) -> NodeListError:
    return NodeListError("bad_nodelist", f"a name of more than {MAX_NAME_LENGTH} characters: {part[:80]!r}")


def _too_large(part: str, most: int) -> NodeListError:
    return NodeListError("nodelist_too_large", f"{part[:80]!r} names more than {most} hosts")


def _expand_one(pattern: str, most: int) -> list[str]:
    """Return the names of a pattern without outer commas, with any bracket groups and a suffix: `r[1-2]n[01-04]-ib`."""
    pieces = re.split(r"\[([^\]]*)\]", pattern)
    if sum(map(len, pieces[::2])) > MAX_NAME_LENGTH:
        raise _too_long(pattern)
    names = [pieces[0]]
    for inside, literal in zip(pieces[1::2], pieces[2::2], strict=True):
        numbers = _numbers(inside, most)
        if len(names) * len(numbers) > most:
            raise _too_large(pattern, most)
        if len(names[0]) + len(numbers[-1]) + len(literal) > MAX_NAME_LENGTH:
            raise _too_long(pattern)
        names = [name + number for name in names for number in numbers]
        if literal:
            names = [name + literal for name in names]
    if _NAME.fullmatch(names[0]) is None:
        raise NodeListError("bad_nodelist", f"not a node name: {names[0][:80]!r}")
    return names


def expand(text: str, most: int = MAXIMUM_HOSTS) -> list[str]:
    """Return the names in a node list, in the order written; none for `None assigned`.

    Parameters
    ----------
    text
        The list as Slurm prints it.
    most
        Most nodes that it may name; a list with more raises an error.

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
        names.extend(_expand_one(pattern, most))
        if len(names) > most:
            raise _too_large(text, most)
    return list(dict.fromkeys(names))


def count(text: str) -> int:
    """Return the number of names in a list without expanding it; repeated names count each time.

    >>> count("gpu[001-003,007],r[1-2]n[00000-99999]")
    200004
    """
    total = 0
    for pattern in split_outside_brackets(text.strip()):
        names = 1
        for inside in re.findall(r"\[([^\]]*)\]", pattern):
            ranges = [_RANGE.fullmatch(part.strip()) for part in inside.split(",")]
            if any(len(found[0]) > 2 * MAX_NAME_LENGTH for found in ranges if found):
                return MAXIMUM_HOSTS + 1
            names *= sum(max(0, int(found[2] or found[1]) - int(found[1]) + 1) for found in ranges if found)
        total += names
    return total


@dataclass(frozen=True)
class Printed:
    """How often a node list is printed, and the number of nodes that its jobs state, if any."""

    times: int = 1
    stated_count: int | None = None


Ask = Callable[[list[str]], Mapping[str, Printed]]
"""Returns how often some lists are printed, and the nodes that their jobs state."""
_TOGETHER_TOO_MANY = NodeListError("nodelist_too_large", "the lists of these files name too many hosts together")


EXPANSION = {
    "node_list": "varchar",
    "node_names": "varchar[]",
    "problem": "varchar",
    "problem_detail": "varchar",
}
"""Columns of expanded lists; if a list cannot be expanded, the names are NULL and the problem says why."""


def expansions(lists: Iterable[str], ask: Ask, max_large_names: int = MAX_LARGE_NAMES) -> Iterator[pa.Table]:
    """Yield tables of expanded distinct lists with the columns `EXPANSION`, each of bounded size."""
    known: set[str] = set()
    rows, left = _Rows(known), MAX_NAMES
    large: list[str] = []
    for text in sorted(lists):
        try:
            names = expand(text, LARGE)
        except NodeListError as error:
            if error.reason == "nodelist_too_large":
                large.append(text)
            else:
                rows.add(text, error)
            continue
        left -= len(names)
        rows.add(text, names if left >= 0 else _TOGETHER_TOO_MANY)
        if rows.is_full:
            yield rows.table()
            rows = _Rows(known)
    printed = ask(large) if large else {}
    left = max_large_names
    for name_count, text in sorted((count(text), text) for text in large):
        seen = printed.get(text, Printed())
        left -= min(name_count, MAXIMUM_HOSTS) * seen.times
        rows.add(text, _expanded_large(text, name_count, seen, is_affordable=left >= 0))
        if rows.is_full:
            yield rows.table()
            rows = _Rows(known)
    yield rows.table()


def _expanded_large(text: str, name_count: int, seen: Printed, *, is_affordable: bool) -> list[str] | NodeListError:
    if name_count > MAXIMUM_HOSTS:
        return _too_large(text, MAXIMUM_HOSTS)
    if seen.stated_count is not None and name_count > SPARE_NAMES + SPARE_FACTOR * seen.stated_count:
        detail = f"{text[:80]!r} names {name_count} hosts where the job has {seen.stated_count} nodes"
        return NodeListError("nodelist_too_large", detail)
    try:
        return expand(text) if is_affordable else _TOGETHER_TOO_MANY
    except NodeListError as error:
        return error


class _Rows:
    """Collects expanded lists for a table; `known` has the names in earlier tables."""

    def __init__(self, known: set[str]) -> None:
        self._known = known
        self._lists: list[str] = []
        self._names: list[str] = []
        self._ends = [0]
        self._errors: list[NodeListError | None] = []

    @property
    def is_full(self) -> bool:
        return len(self._names) >= NAMES_AT_ONCE

    def add(self, text: str, found: list[str] | NodeListError) -> None:
        """Add a list with its names or its error."""
        self._lists.append(text)
        if isinstance(found, NodeListError):
            self._errors.append(found)
        else:
            self._errors.append(None)
            self._names.extend(found)
        self._ends.append(len(self._names))

    def _give_up_foreign_lists(self) -> None:
        """Mark lists as too large that would give the cluster more nodes than it can have."""
        added, self._lists = self._lists, []
        names, self._names = self._names, []
        ends, self._ends = self._ends, [0]
        errors, self._errors = self._errors, []
        for text, first, last, error in zip(added, ends, ends[1:], errors, strict=False):
            found = names[first:last]
            new = {name for name in found if name not in self._known}
            if len(self._known) + len(new) > MAX_NODES:
                self.add(text, _TOGETHER_TOO_MANY)
            else:
                self._known |= new
                self.add(text, error or found)

    def table(self) -> pa.Table:
        """Return everything that was added."""
        new = set(self._names) - self._known
        if len(self._known) + len(new) > MAX_NODES:
            self._give_up_foreign_lists()
        else:
            self._known |= new
        unread = pa.array([error is not None for error in self._errors], pa.bool_())
        names = pa.array(self._names, pa.string())
        return pa.table(
            {
                "node_list": pa.array(self._lists, pa.string()),
                "node_names": pa.ListArray.from_arrays(pa.array(self._ends, pa.int32()), names, mask=unread),
                "problem": pa.array([error and error.reason for error in self._errors], pa.string()),
                "problem_detail": pa.array([error and str(error) for error in self._errors], pa.string()),
            }
        )


def expansion_step(printed_lists: str, into: str) -> Callable[[duckdb.DuckDBPyConnection], None]:
    """Return the step that expands lists into a temp table.

    Parameters
    ----------
    printed_lists
        A query of one column, `node_list`, with a row for every print of a list; NULLs are left out.
    into
        Temp table to make, with the columns `EXPANSION`. A problem is bad_nodelist or nodelist_too_large.
    """

    def expand_lists(con: duckdb.DuckDBPyConnection) -> None:
        times = dict(
            con.execute(
                f"select node_list, count(*) from ({printed_lists}) where node_list is not null group by node_list"
            ).fetchall()
        )
        expanded = TempTable(into, EXPANSION)
        expanded.create(con)
        printed = {text: Printed(count) for text, count in times.items()}
        for table in expansions(times, lambda _: printed, MAX_LARGE_ROWS):
            expanded.insert(con, table)

    return expand_lists
