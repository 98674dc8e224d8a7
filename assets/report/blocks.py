"""What a page is made of: sections of text, tiles, figures and tables, as plain values.

The builders in `sections` fill these; the template lays them out and escapes every string. Nothing here knows HTML.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Tone = Literal["plain", "good", "warning", "note"]


@dataclass(frozen=True)
class Cell:
    """One table cell: its text, a second line in small print, a colour mark, a command as code, a simulated mark."""

    text: str
    detail: str = ""
    swatch: str = ""
    is_code: bool = False
    is_simulated: bool = False


@dataclass(frozen=True)
class Column:
    """A table column; numeric ones are set flush right."""

    name: str
    is_numeric: bool = False


@dataclass(frozen=True)
class Table:
    """A table; a collapsed one opens on a click on its caption."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    is_collapsed: bool = False
    kind: Literal["table"] = "table"


@dataclass(frozen=True)
class Figure:
    """A chart; `description` says in words what it shows, for readers who do not see it."""

    key: str
    title: str
    description: str
    spec: dict[str, Any]
    note: str = ""
    kind: Literal["figure"] = "figure"


@dataclass(frozen=True)
class Tile:
    """A headline number, its unit in smaller print, and what it rests on."""

    label: str
    value: str
    unit: str = ""
    details: tuple[str, ...] = ()


@dataclass(frozen=True)
class Tiles:
    """A row of headline numbers."""

    tiles: tuple[Tile, ...]
    kind: Literal["tiles"] = "tiles"


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    tone: Tone = "plain"
    kind: Literal["text"] = "text"


@dataclass(frozen=True)
class Pair:
    """Two blocks side by side where the page is wide enough; the left one may ask for more room."""

    left: Figure | Table
    right: Figure | Table
    is_left_wider: bool = False
    kind: Literal["pair"] = "pair"


Block = Table | Figure | Tiles | Text | Pair


@dataclass(frozen=True)
class Section:
    """A titled part of a chapter; `name` is the word for it in the index."""

    key: str
    name: str
    title: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Chapter:
    """All sections of one cluster."""

    cluster_id: str
    anchor: str
    subtitle: str
    is_simulated: bool
    sections: tuple[Section, ...]
    stale: str = ""
    """Why the numbers are not the newest; empty where they are."""


@dataclass(frozen=True)
class Page:
    """The whole report."""

    title: str
    subtitle: str
    simulated_clusters: tuple[str, ...]
    comparison: Table | None
    chapters: tuple[Chapter, ...]
    closing: tuple[Section, ...] = field(default_factory=tuple)
    warnings: tuple[str, ...] = ()
    """What a reader has to know before anything else: clusters that are stale or missing."""


def columns(*names: str) -> tuple[Column, ...]:
    """Make columns from names; a leading `#` marks a numeric one.

    >>> columns("State", "#Attempts")[1]
    Column(name='Attempts', is_numeric=True)
    """
    return tuple(Column(name.removeprefix("#"), name.startswith("#")) for name in names)


def row(*cells: Cell | str) -> tuple[Cell, ...]:
    """Make a table row, with plain strings as plain cells."""
    return tuple(cell if isinstance(cell, Cell) else Cell(cell) for cell in cells)
