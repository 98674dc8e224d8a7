"""The page in a real browser: charts drawn, no script error, nothing loaded, nothing hostile executed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from assets.report.page import figures_of
from tests.report.reading import Element, parse

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--virtual-time-budget=20000",
)  # fmt: skip


def opened(page: Path, profile: Path) -> Element:
    """Open a page as a file and return what the browser made of it."""
    program = next((path for path in map(shutil.which, PROGRAMS) if path), None)
    if program is None:
        pytest.fail(
            "no browser to open the report in: install Debian's package `chromium` (apt-get install chromium), "
            f"or put one of {', '.join(PROGRAMS)} on the PATH"
        )
    profile.mkdir()
    command = [program, *FLAGS, f"--user-data-dir={profile}", "--dump-dom", page.resolve().as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 0, done.stderr
    return parse(done.stdout)


@pytest.fixture(scope="module")
def root(html_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Element:
    return opened(html_file, tmp_path_factory.mktemp("browser") / "profile").all("html")[0]


def test_every_chart_is_drawn(root, page):
    elements = [element for element, _ in figures_of(page)]
    assert len(elements) >= 17
    assert root.attributes["data-charts"] == str(len(elements))
    for element in elements:
        chart = root.all("div", id=element)[0]
        drawing = chart.all("svg")
        assert len(drawing) == 1, element
        assert len(drawing[0].all("path")) > 3, element
        assert len(drawing[0].all("text")) > 3, element
        assert float(drawing[0].attributes["width"] or 0) > 300, element


def test_the_charts_hold_what_the_tables_say(root):
    causes = root.all("div", id="demo-causes-chart")[0].text
    assert "GPU memory error" in causes
    assert "k = " in causes
    mttf = root.all("div", id="demo-mttf-chart")[0].text
    assert "k=0" in mttf
    assert "whole cluster" in mttf
    grid = root.all("div", id="demo-ettr-grid-chart")[0].text
    assert "this cluster: 9.94" in grid
    lost = root.all("div", id="demo-losses-chart")[0].text
    assert "second order" in lost
    assert "256" in lost
    assert "different Xid codes" in root.all("div", id="demo-lemon-signals-chart")[0].text


def test_no_script_failed_and_the_policy_refused_nothing(root):
    assert "data-problems" not in root.attributes, root.attributes["data-problems"]


def test_hostile_names_did_not_execute(root):
    assert "data-pwned" not in root.attributes
    assert not root.all("img")


def test_every_section_is_there(root):
    keys = [element.attributes["data-section"] for element in root.all("section")]
    assert keys.count("headline") == 2
    assert keys[-2:] == ["provenance", "definitions"]


def test_the_policy_would_stop_and_report_what_slipped_through(html_file, tmp_path):
    """The guard itself is tried: markup and a foreign address put into the page by hand."""
    broken = tmp_path / "broken.html"
    injected = (
        "<img src=x onerror=\"document.documentElement.dataset.pwned='yes'\">"
        "<script>document.documentElement.dataset.pwned='yes'</script>"
        '<img src="https://192.0.2.1/beacon.png">'
    )
    broken.write_text(html_file.read_text(encoding="utf-8").replace("</main>", f"{injected}</main>"), encoding="utf-8")
    root = opened(broken, tmp_path / "profile").all("html")[0]
    assert "data-pwned" not in root.attributes
    problems = root.attributes["data-problems"] or ""
    assert "img-src" in problems
    assert "script-src" in problems
