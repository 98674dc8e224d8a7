"""The report of the planted warehouse, rendered once."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.report.page import build, render, vega_bundle
from assets.report.queries import read_queries
from assets.warehouse import Warehouse
from tests.report.planting import MADE_AT, plant
from tests.report.reading import Element, pages, parse


@pytest.fixture(scope="session")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse with a real cluster, hostile and full of gaps, and a simulated one."""
    warehouse = Warehouse(path=str(tmp_path_factory.mktemp("planted") / "faultline.duckdb"))
    with warehouse.writing() as con:
        plant(con)
    return warehouse


@pytest.fixture(scope="session")
def query_rows(planted: Warehouse):
    """Everything the report read from the planted warehouse."""
    with planted.reading() as con:
        return read_queries(con)


@pytest.fixture(scope="session")
def page(query_rows):
    """The content of the planted report, before HTML."""
    return build(query_rows, MADE_AT)


@pytest.fixture(scope="session")
def bundle() -> str:
    """The script that draws the charts."""
    return vega_bundle()


@pytest.fixture(scope="session")
def html(page, bundle) -> str:
    """The planted report."""
    return render(page, bundle)


@pytest.fixture(scope="session")
def root(html: str) -> Element:
    """The planted report as elements."""
    return parse(html)


@pytest.fixture(scope="session")
def demo(root: Element) -> Element:
    """The pages of the simulated cluster."""
    return pages(root, "demo")


@pytest.fixture(scope="session")
def hall(root: Element) -> Element:
    """The pages of the real cluster."""
    return pages(root, "hall-b")


@pytest.fixture(scope="session")
def html_file(html: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The planted report as a file."""
    path = tmp_path_factory.mktemp("html") / "index.html"
    path.write_text(html, encoding="utf-8")
    return path
