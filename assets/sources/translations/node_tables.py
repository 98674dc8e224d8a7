"""Tables of nodes: the many layouts of `sinfo`, and CSV of a site's own inventory.

Columns have known names, or names under `[inventory]`. Facts of a missing column are unknown. Without a header (`sinfo
-h`) one layout is recognised, by the content of its columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

from assets.sources.other_forms import SetAside, Translation, begins_json
from assets.sources.reader import SourceFile
from assets.sources.settings import ClusterSettings
from assets.sources.text.nodelists import NodeListError
from assets.sources.text.text_lines import cells_of, lines_of
from assets.sources.translations.node_lines import MAX_NAMED, MAX_SNAPSHOT, Node, lines_of_snapshot, node_names

_Columns = tuple[str | None, list[str], dict[str, int]]
"""The delimiter, the names, and the place of each column by its meaning."""
KNOWN_NAMES: Mapping[str, tuple[str, ...]] = {
    "node": ("nodelist", "hostnames", "node", "node_name", "nodename", "hostname", "host", "name"),
    "state": ("statelong", "state", "statecompact"),
    "gres": ("gres",),
    "gpus": ("gpus", "gpu_count", "gpu_num", "num_gpus", "gpus_per_node"),
    "gpu_model": ("gpu_model", "gpu_type"),
    "cpus": ("cpus", "cpu_count"),
    "memory": ("memory", "memory_mib", "memory_mb", "real_memory"),
    "partition": ("partition", "partitions"),
    "reason": ("reason",),
    "user": ("user",),
    "time": ("timestamp",),
    "booted": ("booted_at", "boot_time"),
    "rack": ("rack", "host.rack_id"),
    "switch": ("switch", "leaf_switch", "leaf"),
    "nvlink_domain": ("nvlink_domain", "gpu.clique", "clique"),
    "position": ("position", "rack_position", "slot"),
}
_PLACES = ("rack", "switch", "nvlink_domain", "position")
_OF_NODES = ("state", "gres", "gpus", "cpus", "memory", "partition", "reason", *_PLACES)
"""A table of nodes has at least one of these columns."""
_SHOWN_WITHOUT_HEADER = ["node", "gres", "state", "reason", "time", "user"]
WITHOUT_HEADER = ("|", _SHOWN_WITHOUT_HEADER, {name: place for place, name in enumerate(_SHOWN_WITHOUT_HEADER)})
"""What `columns_of` would return for `sinfo -N -h -o '%N|%G|%T|%E|%H|%u'` with a header."""
_ROW_WITHOUT_HEADER = re.compile(r"[A-Za-z][^\s|=]*\|(?:\(null\)|\w+:[^|]*)\|[a-z_]+[-*~#!%$@^+]*\|.*\|[^|\s]*\|[^|]*")
DELIMITERS = ("|", "\t", ";", ",")
_TIME = re.compile(r"\S*\d\S*|unknown|none|n/a|\(null\)|", re.I)
_OFTEN_EMPTY = "reservation"
"""A column of `sinfo -l` that is blank for nodes without a reservation."""
_MAX_LINES_OF_ROW = 20
_SHOWN_NODE = re.compile(r"^NodeName=\S+ ", re.M)
"""Matches a node as scontrol shows it."""
_DATE_LINE = re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}")


def columns_of(header: str, cluster: ClusterSettings) -> _Columns | None:
    """Return the delimiter, the names, and the place of each column by its meaning; None if the line is not a header.

    Without a delimiter the columns are separated by spaces, as `sinfo` prints them by default.
    """
    configured = cluster.settings.inventory
    named = {str(meaning): name for meaning, name in configured.columns.items()}
    delimiters: list[str | None] = [configured.delimiter] if configured.delimiter else [*DELIMITERS, None]
    for delimiter in delimiters:
        cells = header.split() if delimiter is None else cells_of(header, delimiter)
        names = [cell.strip().lower() for cell in cells]
        places = {}
        for meaning, known in KNOWN_NAMES.items():
            wanted = (named[meaning].lower(),) if meaning in named else known
            if name := next((name for name in wanted if name in names), None):
                places[meaning] = names.index(name)
        is_of_slurm = header.upper() == header or delimiter is not None
        if "node" in places and not places.keys().isdisjoint(_OF_NODES) and is_of_slurm:
            return delimiter, names, places
    return None


def _is_table(sample: str, cluster: ClusterSettings) -> bool:
    """Return whether one of the first lines is a header of nodes."""
    if begins_json(sample) or _SHOWN_NODE.search(sample):
        return False
    filled = [line.rstrip("\r") for line in sample.split("\n") if line.strip()]
    return any(columns_of(line, cluster) is not None or _is_without_header(line) for line in filled[:3])


def _is_without_header(line: str) -> bool:
    return _ROW_WITHOUT_HEADER.fullmatch(line) is not None


def _translate(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Yield the nodes of a table as lines; each header begins another snapshot."""
    found: _Columns | None = None
    snapshot: list[Node | SetAside] = []
    captured_at: str | None = None
    named = 0
    rows = _Rows()
    for line in rows.whole(lines_of(pieces)):
        if len(snapshot) > MAX_SNAPSHOT:
            yield from lines_of_snapshot(snapshot)
            snapshot = []
        header = columns_of(line, cluster) if "|" in line or line[:1].isalpha() else None
        is_header = header is not None and (found is None or header[1] == found[1])
        if is_header:
            yield from lines_of_snapshot(snapshot)
            snapshot, found = [SetAside(line, "header")], header
            rows.columns = found
        elif not line.strip():
            snapshot.append(SetAside(line, "blank"))
        elif date := _date_of(line.strip()):
            yield from lines_of_snapshot(snapshot)
            snapshot = [SetAside(line, "comment")]
            captured_at = date
        elif found is None and not _is_without_header(line):
            snapshot.append(SetAside(line, "no_header", "no line above it names the columns"))
        elif named > MAX_NAMED:
            snapshot.append(SetAside(line, "nodelist_too_large", f"the lines above name {named} nodes by lists"))
        else:
            rows.columns = found or WITHOUT_HEADER
            nodes = _nodes_of(line, rows.columns, captured_at)
            named += len(nodes) if len(nodes) > 1 else 0
            snapshot += nodes
    yield from lines_of_snapshot(snapshot)


def _date_of(line: str) -> str | None:
    """Return the moment of a line that `date` printed; None for any other line, and for a day that does not exist.

    >>> _date_of("Thu Nov 26 23:50:30 2026"), _date_of("Thu Nof 26 23:50:30 2026")
    ('2026-11-26T23:50:30', None)
    """
    with suppress(ValueError):
        return datetime.strptime(line, "%a %b %d %H:%M:%S %Y").isoformat() if _DATE_LINE.fullmatch(line) else None
    return None


class _Rows:
    """Joins lines to rows. A reason may have several lines, for example if it is the output of a script."""

    def __init__(self) -> None:
        self.columns: _Columns | None = None
        """Header of the next rows; None before the first header."""

    def whole(self, lines: Iterator[str]) -> Iterator[str]:
        """Yield rows; lines that are not part of a row are yielded as they are."""
        begun: list[str] = []
        for line in lines:
            is_row = self.columns is not None and self._count(line) >= len(self.columns[1])
            if begun and (is_row or not line.strip() or len(begun) == _MAX_LINES_OF_ROW):
                yield from begun
                begun = []
            row = " ".join([*begun, line])
            if not is_row and self._breaks_in_reason(row if begun else line):
                begun.append(line)
            else:
                begun = []
                yield row
        yield from begun

    def _count(self, line: str) -> int:
        delimiter = self.columns[0] if self.columns else None
        return len(cells_of(line, delimiter)) if delimiter else 0

    def _breaks_in_reason(self, row: str) -> bool:
        places = self.columns[2] if self.columns else {}
        return "reason" in places and places["reason"] < self._count(row) < len(self.columns[1] if self.columns else ())


def _nodes_of(line: str, columns: _Columns, captured_at: str | None) -> list[Node | SetAside]:
    delimiter, names, places = columns
    cells = _cells(line, delimiter, names)
    if delimiter is None and len(cells) == len(names) - 1 and _OFTEN_EMPTY in names:
        cells.insert(names.index(_OFTEN_EMPTY), "")
    if len(cells) != len(names):
        return [SetAside(line, "field_count", f"{len(cells)} fields where the header names {len(names)}")]
    fields = {meaning: cells[place].strip() for meaning, place in places.items()}
    if _TIME.fullmatch(fields.get("time", "")) is None:
        # A part of a broken reason may have as many words as there are columns.
        return [SetAside(line, "bad_timestamp", f"{fields['time']} is no time")]
    try:
        listed = node_names(fields["node"])
    except NodeListError as error:
        return [SetAside(line, error.reason, str(error))]
    gpus = _count(fields.get("gpus"))
    about: dict[str, Any] = {
        "state": fields.get("state"),
        "gres": fields.get("gres"),
        "gpu_count": gpus,
        "gpu_model": fields.get("gpu_model") or None,
        "cpus": fields.get("cpus"),
        "memory": fields.get("memory"),
        "partitions": tuple(filter(None, re.split(r"[,; ]+", fields.get("partition", "").replace("*", "")))),
        "reason": fields.get("reason"),
        "reason_user": fields.get("user"),
        "reason_time": fields.get("time"),
        "booted": fields.get("booted"),
        "captured_at": captured_at,
        **{place: fields.get(place) for place in _PLACES},
    }
    return [Node(name, **about) for name in listed]


def _cells(line: str, delimiter: str | None, names: Sequence[str]) -> list[str]:
    """Split a line; only the reason may contain the delimiter."""
    cells = line.split() if delimiter is None else cells_of(line, delimiter)
    excess = len(cells) - len(names)
    if excess <= 0:
        return cells
    if delimiter is not None and excess == 1 and not cells[-1].strip():
        # Some layouts end their rows, but not their header, with the delimiter.
        return cells[:-1]
    if "reason" not in names:
        return cells
    first, last = names.index("reason"), names.index("reason") + excess
    return [*cells[:first], (delimiter or " ").join(cells[first : last + 1]), *cells[last + 1 :]]


def _count(text: str | None) -> int | None:
    match = re.fullmatch(r"(\d{1,6})(?:\.0*)?", text or "", re.ASCII)
    return int(match[1]) if match else None


_EXAMPLE = """NODELIST|GRES|STATE|REASON|TIMESTAMP|USER|PARTITION
gpu1|gpu:h100:8(S:0-1)|drained*|xid 79|2026-11-20T10:00:00|root(0)|train*
"""
FORMS = (Translation("node_table", "inventory", _is_table, _translate, _EXAMPLE, rank=2),)
