"""Read a finished page without a browser: elements, tables, text.

The page holds tables as JSON, which its script lays out; here they become the same elements.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "img", "br", "link", "input", "hr", "area", "base", "col", "embed", "source", "track", "wbr"}


@dataclass
class Element:
    """One element with its attributes, children and own text."""

    tag: str
    attributes: dict[str, str | None]
    children: list[Element] = field(default_factory=list, repr=False)
    pieces: list[str | Element] = field(default_factory=list, repr=False)

    @property
    def text(self) -> str:
        """All text below the element, scripts and styles left out, white space folded, narrow spaces kept."""
        joined = "".join(
            piece if isinstance(piece, str) else f" {piece.text} "
            for piece in self.pieces
            if isinstance(piece, str) or piece.tag not in {"script", "style"}
        )
        return re.sub(r"[ \t\r\n]+", " ", joined).strip()

    def all(self, tag: str, **attributes: str) -> list[Element]:
        """Find elements below this one, in the order of the page."""
        found = []
        for child in self.children:
            wanted = {name.replace("_", "-").strip("-"): value for name, value in attributes.items()}
            if child.tag == tag and all(child.attributes.get(name) == value for name, value in wanted.items()):
                found.append(child)
            found.extend(child.all(tag, **attributes))
        return found

    def rows(self) -> list[list[str]]:
        """Texts of a table's body."""
        return [[cell.text for cell in row.all("td")] for row in self.all("tbody")[0].all("tr")]


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("root", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, dict(attrs))
        self.open[-1].children.append(element)
        self.open[-1].pieces.append(element)
        if tag not in VOID:
            self.open.append(element)

    def _close(self, element: Element) -> None:
        if element.tag == "script" and "data-table" in element.attributes:
            laid_out = _table_of(json.loads("".join(str(piece) for piece in element.pieces)))
            holder = self.open[-1]
            holder.children[-1] = holder.pieces[-1] = laid_out

    def handle_endtag(self, tag: str) -> None:
        if tag in {element.tag for element in self.open[1:]}:
            while True:
                element = self.open.pop()
                self._close(element)
                if element.tag == tag:
                    break

    def handle_data(self, data: str) -> None:
        self.open[-1].pieces.append(data)


def _element(tag: str, *pieces: str | Element, **attributes: str) -> Element:
    found = [piece for piece in pieces if isinstance(piece, Element)]
    return Element(tag, {name.strip("_"): value for name, value in attributes.items()}, found, list(pieces))


def _cell(cell: str | dict[str, str]) -> Element:
    parts = {"t": cell} if isinstance(cell, str) else cell
    pieces: list[str | Element] = [_element("code" if parts.get("c") else "bdi", parts["t"])]
    if parts.get("m"):
        pieces = [_element("code", part) if place % 2 else part for place, part in enumerate(parts["m"])]
    if parts.get("h"):
        pieces = [_element("a", *pieces, href=parts["h"])]
    if parts.get("d"):
        pieces.append(_element("small", parts["d"]))
    return _element("td", *pieces)


def _table_of(parts: dict) -> Element:
    heads = [_element("th", column["name"], scope="col") for column in parts["columns"]]
    rows = [_element("tr", *(_cell(cell) for cell in row)) for row in parts["rows"]]
    caption = _element("caption", parts["caption"])
    return _element("table", caption, _element("thead", _element("tr", *heads)), _element("tbody", *rows))


def pages(root: Element, cluster: str) -> Element:
    """Return all pages of one cluster as one element."""
    found = [page for page in root.all("article") if page.attributes.get("data-cluster") == cluster]
    assert found, cluster
    return Element("pages", {}, found, list(found))


def section(chapter: Element, key: str) -> Element:
    """Find a section of a cluster's pages by its key."""
    return chapter.all("section", data_section=key)[0]


def parse(html: str) -> Element:
    """Parse a page."""
    builder = _Builder()
    builder.feed(html)
    return builder.root


def table(within: Element, caption: str) -> Element:
    """Return the one table with a caption that begins so."""
    found = [element for element in within.all("table") if element.all("caption")[0].text.startswith(caption)]
    assert len(found) == 1, [element.all("caption")[0].text for element in within.all("table")]
    return found[0]
