"""The page in a real browser: charts drawn, tables sorted and filtered, no script error, nothing hostile executed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from assets.report.blocks import Page
from assets.report.page import figures_in
from tests.report.browser import Tab, browser
from tests.report.clusters import HOSTILE, HOSTILE_SCRIPT
from tests.report.looking import CUT, LOST, OVERLAPS, SORTED, SWAPPED

DETAIL = "document.querySelector('article:not([hidden]) .detail')"
ROWS = "Array.from(document.querySelectorAll('article:not([hidden]) {}')).map((node) => node.innerText.trim())"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with browser(tmp_path_factory.mktemp("browser") / "profile") as opened:
        opened.show(1440)
        yield opened


@pytest.fixture(scope="module")
def address(html_file: Path) -> str:
    return html_file.resolve().as_uri()


@pytest.fixture
def opened(tab: Tab, address: str) -> Iterator[Tab]:
    """The report at its first page; any problem of the page fails the test."""
    tab.problems.clear()
    tab.show(1440)
    tab.open(address)
    yield tab
    assert tab.problems == []
    assert tab.run("document.documentElement.dataset.problems || ''") == ""
    assert tab.run("document.documentElement.dataset.pwned || ''") == ""
    assert tab.run("document.images.length") == 0


def rows(tab: Tab, selector: str) -> list[str]:
    return tab.run(ROWS.format(selector))


def whole(tab: Tab, pages: Iterable[Page]) -> None:
    """Fail at a page with texts that overlap or leave the window, or a figure that is not drawn or has no table."""
    for shown in pages:
        tab.go(shown.address)
        assert tab.run("document.documentElement.dataset.page") == shown.address
        charts = len(list(figures_in(shown))) + bool(shown.first and shown.first.trend)
        drawn = tab.run("document.querySelectorAll('article:not([hidden]) .chart svg').length")
        assert drawn == charts, shown.address
        assert tab.run(OVERLAPS) == [], shown.address
        assert tab.run(CUT) == [], shown.address
        assert not tab.run(r"/\b(NaN|undefined|null)\b/.test(document.querySelector('main').innerText)")
        assert tab.run(SWAPPED) == [0, 0], shown.address


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (768, "dark"), (390, "light")])
def test_every_page_is_whole_at_every_width(opened, page, width, scheme):
    opened.show(width, scheme=scheme)
    whole(opened, page.pages)


def test_every_link_leads_somewhere(opened):
    assert opened.run(LOST) == []


def test_the_evidence_of_a_failure_and_the_history_of_a_node_stand_with_their_lines(opened):
    opened.go("demo/failures")
    opened.run("document.querySelector('article:not([hidden]) [data-section=drawn] a').click()")
    opened.wait(rf"/demo\/kernel\/node\d+\.log, line \d+/.test({DETAIL}.innerText)")
    opened.go("demo/failures/node=sim007")
    opened.wait(f"{DETAIL}.innerText.includes('Node sim007')")
    assert re.search(r"failed job\s.*demo/sacct/", opened.run(f"{DETAIL}.innerText"))
    opened.go("demo/failures/node=no-such-node")
    assert opened.run(f"{DETAIL}.hidden")


def test_a_table_is_sorted_searched_and_led_to_by_its_cause(opened):
    last = "[data-section=failures] tbody tr td:last-child"
    opened.go("demo-failures")
    times = rows(opened, "[data-section=failures] tbody tr td:first-child")
    assert len(times) == 25
    opened.run("document.querySelectorAll('article:not([hidden]) [data-section=failures] th button')[9].click()")
    lost = [float(text.replace(",", "")) for text in rows(opened, last)]
    assert lost in (sorted(lost), sorted(lost, reverse=True))
    box = "document.querySelector('article:not([hidden]) [data-section=failures] input[type=search]')"
    opened.run(f"{box}.value = 'pcie'; {box}.dispatchEvent(new Event('input'))")
    assert all("PCIe" in row for row in rows(opened, "[data-section=failures] tbody tr"))
    opened.run(f"{box}.value = ''; {box}.dispatchEvent(new Event('input'))")
    opened.go("demo/failures")
    link = "document.querySelector('article:not([hidden]) [data-section=causes] td a')"
    cause = opened.run(f"{link}.innerText")
    opened.run(f"{link}.click()")
    opened.wait("location.hash.includes('cause=')")
    assert set(rows(opened, "[data-section=failures] tbody tr td:nth-child(6)")) == {cause}
    for page in ("demo/failures", "demo/nodes"):
        opened.go(page)
        assert opened.run(SORTED) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12,457", 12457), ("18.0", 18), ("13.5 min", 0.225), ("2.32 days", 55.68), ("4.62%", 4.62), ("unknown", None),
        ("1.20 × 10⁻⁶", 1.2e-6), ("above 12.0 h", 12), ("none seen; rate below 3.00 (90%)", 0), ("\u22120.5", -0.5),
        ("1,024 GPUs", 1024), ("no loss", None), ("under 0.1%", 0.1),
    ],
)  # fmt: skip
def test_a_column_is_sorted_by_the_numbers_it_shows(opened, text, value):
    found = opened.run(f"window.faultline.numberIn({json.dumps(text)})")
    assert found == (pytest.approx(value) if value is not None else None)


def test_hostile_names_stay_text_in_filters_details_and_files(opened):
    opened.go("hall-b/nodes")
    links = "Array.from(document.querySelectorAll('article:not([hidden]) td a'))"
    opened.run(f"{links}.find((link) => link.innerText.includes('<img')).click()")
    opened.wait("location.hash.includes('node=')")
    assert HOSTILE in rows(opened, "[data-filtered] .chip")[0]
    opened.go("hall-b/failures/failure=hall-b%3A2%3A0")
    assert HOSTILE in opened.run(f"{DETAIL}.innerText")
    opened.go("hall-b/failures/failure=%3Cimg src=x%3E")
    assert "no failure of that name" in opened.run(f"{DETAIL}.innerText")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"), ("@SUM(A1)", "'@SUM(A1)"), ("+1", "'+1"), ("-1.5", "-1.5"),
        ("\t=1", "'\t=1"), ('a"b', '"a""b"'), ("=1,2", "\"'=1,2\""), ("plain", "plain"), ("-x", "'-x"),
        (HOSTILE, '"' + HOSTILE.replace('"', '""') + '"'),
    ],
)  # fmt: skip
def test_a_file_for_a_spreadsheet_holds_no_formula(opened, text, written):
    assert opened.run(f"window.faultline.quoted({json.dumps(text)})") == written


def test_the_policy_would_stop_and_report_what_slipped_through(tab, html_file, tmp_path):
    """Test the guard itself: put markup and a foreign address into the page by hand."""
    broken = tmp_path / "broken.html"
    injected = f'{HOSTILE}{HOSTILE_SCRIPT.removeprefix("</script>")}<img src="https://192.0.2.1/beacon.png">'
    broken.write_text(html_file.read_text(encoding="utf-8").replace("</main>", f"{injected}</main>"), encoding="utf-8")
    tab.open(broken.as_uri())
    assert not tab.run("document.documentElement.dataset.pwned")
    problems = tab.run("document.documentElement.dataset.problems")
    assert "img-src" in problems
    assert "script-src" in problems
