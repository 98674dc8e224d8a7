"""Reports of refreshed clusters in a real browser: every page at three widths, light and dark.

The homes: the capture, the demo and a cluster with accounting only; an empty warehouse; the paper's two clusters at
full size, or at the share `FAULTLINE_TEST_SCALE` of it. axe-core is the only part in use of axe-playwright-python:
`pip install --no-deps -r requirements-axe.lock.txt`.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

from assets.report.page import build, render, vega_bundle
from assets.report.queries import read_queries
from orchestration.settings.home import Home
from tests.conftest import CAPTURE, refresh
from tests.report.browser import Tab, browser
from tests.report.looking import BARE, CUT, LOST, OVERLAPS, SORTED
from tests.report.planting import MADE_AT
from tests.warehouses import filled

pytestmark = pytest.mark.slow

SCALE = os.environ.get("FAULTLINE_TEST_SCALE", "1")
LOOKS = [(width, scheme) for width in (1440, 768, 390) for scheme in ("light", "dark")]
SEEN = {"on each other": OVERLAPS, "cut": CUT, "bare": BARE}
AXE = """axe.run(document, { resultTypes: ['violations'] }).then((found) => found.violations.map((violation) =>
  violation.id + ': ' + violation.nodes.slice(0, 3).map((node) => node.target.join(' ')).join(', ')))"""


def simulated(home: Home, *profiles: str) -> None:
    """Write the logs of profiles into a home."""
    from typer.testing import CliRunner

    from orchestration.cli import app

    for profile in profiles:
        arguments = ["simulate", profile, "--out", str(home.root)]
        arguments += ["--until", "2026-04-05"] if profile == "demo" else ["--scale", SCALE]
        done = CliRunner().invoke(app, arguments)
        assert done.exit_code == 0, done.output


def small(home: Home) -> Path:
    """The report of the capture, the demo, and a cluster with accounting only."""
    shutil.copytree(CAPTURE, home.sources / "testbed")
    shutil.copytree(CAPTURE / "sacct", home.sources / "accounting-only" / "sacct")
    simulated(home, "demo")
    refresh(home)
    return home.report


def full(home: Home) -> Path:
    """The report of the paper's two clusters."""
    simulated(home, "rsc1", "rsc2")
    refresh(home)
    return home.report


def empty(home: Home) -> Path:
    """The report of a warehouse without clusters."""
    home.root.mkdir(parents=True, exist_ok=True)
    with filled(home.root).reading() as con:
        html = render(build(read_queries(con), MADE_AT), vega_bundle())
    (home.root / "index.html").write_text(html, encoding="utf-8")
    return home.root / "index.html"


@pytest.fixture(scope="module", params=[small, full, empty])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of each home in turn."""
    return request.param(Home.at(tmp_path_factory.mktemp("home")))


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("browser") / "profile") as opened:
        yield opened


def opened(tab: Tab, report: Path, width: int = 1440, scheme: str = "light") -> list[str]:
    """Open a report and list its pages."""
    tab.problems.clear()
    tab.show(width, scheme=scheme)
    tab.open(report.resolve().as_uri())
    return tab.run("Array.from(document.querySelectorAll('[data-page-id]'), (page) => page.dataset.pageId)")


def findings(tab: Tab, pages: Iterable[str], scripts: Mapping[str, str]) -> dict[str, object]:
    """Run scripts on pages, and return their findings by page and script."""
    found = {}
    for page in pages:
        tab.go(page)
        found |= {f"{page}: {name}": said for name, script in scripts.items() if (said := tab.run(script))}
    return found


@pytest.mark.parametrize(("width", "scheme"), LOOKS)
def test_every_page_is_whole(tab, report, width, scheme):
    assert findings(tab, opened(tab, report, width, scheme), SEEN) == {}
    assert tab.problems == []
    assert tab.run("document.documentElement.dataset.problems || ''") == ""


def test_every_column_sorts_and_every_link_leads_somewhere(tab, report):
    assert findings(tab, opened(tab, report), {"not sorted": SORTED}) == {}
    assert tab.run(LOST) == []
    assert tab.problems == []


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (1440, "dark"), (390, "light")])
def test_axe_finds_nothing(tab, report, width, scheme):
    found = find_spec("axe_playwright_python")
    if found is None or found.origin is None:
        pytest.skip("axe-core is not installed: pip install --no-deps -r requirements-axe.lock.txt")
    pages = opened(tab, report, width, scheme)
    tab.run((Path(found.origin).parent / "axe.min.js").read_text(encoding="utf-8") + "; true")
    assert findings(tab, pages, {"axe": AXE}) == {}


def test_every_report_can_be_mailed_and_is_quick(tab, report):
    assert report.stat().st_size < 10_000_000  # With eleven months of both clusters, 3,000 nodes: 8.4 MB.
    opened(tab, report)
    pages = opened(tab, report)
    assert tab.run("performance.getEntriesByName('first-contentful-paint')[0].startTime") < 1_000
    assert tab.run("performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd") < 2_000
    for page in (page for page in pages if page.endswith("/failures")):
        tab.go(page)
        before = tab.run("performance.now()")
        tab.run("document.querySelector('article:not([hidden]) th button').click()")
        assert tab.run("performance.now()") - before < 1_000
