"""The parts of the report: pages of sections, with tiles, figures and tables as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from assets.report.actions import Action

Direction = Literal["", "better", "worse"]


@dataclass(frozen=True)
class Cell:
    """One table cell."""

    text: str
    detail: str = ""
    """A second line in small print."""
    swatch: str = ""
    """A colour mark before the text."""
    is_code: bool = False
    """A command to copy."""
    link: str = ""
    """An address inside the report, such as `#demo/failures/node=a12`."""
    parts: tuple[str, ...] = ()
    """The text as alternating prose and commands to copy, if it has both."""

    def as_json(self) -> str | dict[str, Any]:
        """Return what the page's script reads: the plain text if there is nothing else."""
        marks = {"d": self.detail, "s": self.swatch, "c": self.is_code, "h": self.link, "m": self.parts}
        said = {name: value for name, value in marks.items() if value}
        return {"t": self.text, **said} if said else self.text


@dataclass(frozen=True)
class Table:
    """A table; a collapsed one opens on a click on its caption, a total row stays last however it is sorted."""

    caption: str
    columns: tuple[dict[str, Any], ...]
    """What the page's script reads of each column: its name, whether it is numeric, and the name of its filter."""
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    is_collapsed: bool = False
    has_total: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return what the page's script reads."""
        return {
            "caption": self.caption,
            "columns": self.columns,
            "rows": [[cell.as_json() for cell in cells] for cells in self.rows],
            "last": self.has_total,
        }


@dataclass(frozen=True)
class Figure:
    """A chart; `description` says in words what it shows, for readers who do not see it."""

    key: str
    title: str
    description: str
    spec: dict[str, Any]
    columns: dict[str, str]
    """Columns of the data `main` with their headings: what the figure's own table shows."""
    note: str = ""


@dataclass(frozen=True)
class Measure:
    """What a number of failures counts: on one screen, all of one unit have one population and one way of counting."""

    unit: str
    population: str
    counting: str = "expected"
    """Expected: each failure counts with the probability that it is one."""


@dataclass(frozen=True)
class Tile:
    """A headline number, its unit in smaller print, and details."""

    label: str
    value: str
    unit: str = ""
    details: tuple[str, ...] = ()
    measure: Measure | None = None


Part = Table | Figure | Tile


@dataclass(frozen=True)
class Section:
    """A titled part of a page; a folded one opens on a click on its title."""

    key: str
    title: str
    html: str
    """Escaped by the template that wrote it."""
    parts: tuple[Part, ...] = ()
    """The tables, figures and tiles in it."""
    is_folded: bool = False

    @property
    def filters(self) -> str:
        """Names of the filters of its tables, for addresses that select rows."""
        tables = (part for part in self.parts if isinstance(part, Table))
        return " ".join({column["f"]: None for table in tables for column in table.columns if "f" in column})


@dataclass(frozen=True)
class Change:
    """The last 30 days compared with the 30 before: in words, as a ratio with its counts, and its tone."""

    in_words: str
    ratio: str
    detail: str = ""
    tone: Direction = ""
    measure: Measure | None = None
    limits: str = ""


@dataclass(frozen=True)
class Age:
    """The end of the data, and its age when the report was made."""

    until: str
    ago: str = ""
    is_old: bool = False
    fresh_hours: float = 0.0
    """Data older than this is old."""


@dataclass(frozen=True)
class FirstScreen:
    """The first screen of a cluster, which fits one screen without scrolling."""

    period: str
    change: Change
    sentence: str
    """The text after the change: the loss and how many nodes to take out."""
    tiles: tuple[Tile, ...]
    actions: tuple[Action, ...]
    age: Age
    missing: str
    folder: str
    """Where newer logs go."""
    lost_gpu_hours: float = 0.0
    trend: Figure | None = None
    trend_title: str = "Failures per 1,000 node-days by cause, all jobs, trailing 30 days"
    without_trend: str = "The failure rate is not drawn yet: a chart requires two weeks of days with failures."


@dataclass(frozen=True)
class Page:
    """One page: its address, what the navigation calls it, and its sections."""

    address: str
    name: str
    title: str
    sections: tuple[Section, ...]
    cluster: Chapter | None = None
    first: FirstScreen | None = None
    details: dict[str, Any] | None = None

    @property
    def prefix(self) -> str:
        """The prefix of the ids of the page's sections."""
        return f"{self.cluster.anchor}-" if self.cluster else ""


@dataclass(frozen=True)
class Chapter:
    """All pages of one cluster."""

    cluster_id: str
    anchor: str
    is_simulated: bool
    stale: str = ""
    """Why the numbers are not the newest; empty if they are."""
    pages: tuple[Page, ...] = ()
    not_made: tuple[str, ...] = ()
    """Names of sections that could not be made, and of pages that lack a part."""


@dataclass(frozen=True)
class Report:
    """The whole report: the list of clusters, the pages of each, and what concerns all of them."""

    title: str
    subtitle: str
    index: Page
    chapters: tuple[Chapter, ...]
    closing: tuple[Page, ...] = ()
    warnings: tuple[str, ...] = ()
    """Warnings above everything else: clusters that are stale or missing."""

    @property
    def not_made(self) -> tuple[str, ...]:
        """What could not be made, by cluster; the error is the report's, not the cluster's."""
        return tuple(
            f"{chapter.cluster_id}: {', '.join(chapter.not_made)} could not be made; please report it"
            for chapter in self.chapters
            if chapter.not_made
        )

    @property
    def pages(self) -> tuple[Page, ...]:
        """All pages in the order of the navigation."""
        return (self.index, *(page for chapter in self.chapters for page in chapter.pages), *self.closing)
