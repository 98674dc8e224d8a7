"""The page in a real browser: charts drawn, tables sorted and filtered, no script error, nothing hostile executed."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from assets.report.blocks import Chapter, Page
from assets.report.page import build, figures_in, render
from assets.report.queries import read_frames
from tests.report.browser import Tab, browser
from tests.report.clusters import HOSTILE, KINDS, hostile_cluster
from tests.report.looking import CUT, MAX_HEIGHTS, OVERLAPS, too_much
from tests.report.planting import MADE_AT, insert
from tests.warehouses import filled

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
    """The report at its first page; what it complained of fails the test."""
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


@pytest.mark.parametrize(("width", "scheme"), [(1440, "light"), (768, "dark"), (390, "light")])
def test_every_page_is_whole_at_every_width(opened, page, width, scheme):
    opened.show(width, scheme=scheme)
    for leaf in page.leaves:
        opened.go(leaf.address)
        assert opened.run("document.documentElement.dataset.page") == leaf.address
        charts = len(list(figures_in(leaf))) + bool(leaf.first and leaf.first.trend)
        assert opened.run("document.querySelectorAll('article:not([hidden]) .chart svg').length") == charts, (
            leaf.address
        )
        assert opened.run(OVERLAPS) == [], leaf.address
        assert opened.run(CUT) == [], leaf.address
        assert not opened.run(r"/\b(NaN|undefined|null)\b/.test(document.querySelector('main').innerText)")


@pytest.mark.parametrize("width", MAX_HEIGHTS)
def test_every_page_can_be_read(opened, width):
    opened.show(width)
    opened.go("index")
    assert too_much(opened, width) == {}


def test_the_first_screen_needs_no_scrolling(opened):
    opened.go("demo")
    assert opened.run("document.querySelector('article:not([hidden]) .first').getBoundingClientRect().bottom") <= 900
    assert len(rows(opened, ".tile .value")) > 4


@pytest.mark.parametrize("count", [1, 6, 40])
@pytest.mark.parametrize("width", [1440, 390])
def test_the_bar_cuts_no_mark_however_many_clusters_there_are(tab, page, bundle, tmp_path, count, width):
    more = (Chapter(f"simulated-in-hall-{number}", f"hall-{number}", is_simulated=True) for number in range(count))
    file = tmp_path / "index.html"
    file.write_text(render(replace(page, chapters=(*page.chapters, *more)), bundle), encoding="utf-8")
    tab.show(width)
    tab.open(file.as_uri())
    tab.run("location.hash = 'demo'")
    tab.wait("document.documentElement.dataset.page === 'demo'")
    links = "Array.from(document.querySelectorAll('.mainbar [data-covers]'))"
    ends = [end for end in tab.run(f"{links}.map((link) => link.getBoundingClientRect().right)") if end]
    assert len(ends) == (count + 2 if count + 2 <= (8 if width > 600 else 3) else 1)
    frame = tab.run("document.querySelector('.mainbar nav').getBoundingClientRect().right")
    assert max(ends) <= frame <= width
    assert tab.run("document.querySelector('header').getBoundingClientRect().height") < 200
    assert tab.run(CUT) == []


def test_the_history_of_a_node(opened):
    opened.go("demo/failures/node=sim007")
    detail = "document.querySelector('article:not([hidden]) .detail')"
    opened.wait(f"!!{detail}.innerText")
    said = opened.run(f"{detail}.innerText")
    assert "Node sim007" in said
    assert re.search(r"failed job\s.*demo/sacct/", said)
    opened.go("demo/failures/node=no-such-node")
    assert opened.run(f"{detail}.hidden")


def test_a_table_is_sorted_searched_and_turned(opened):
    opened.go("demo-failures")
    times = rows(opened, "[data-section=failures] tbody tr td:first-child")
    assert len(times) == 25
    assert times == sorted(times, reverse=True)
    click = "document.querySelectorAll('article:not([hidden]) [data-section=failures] th button')[{}].click()"
    opened.run(click.format(9))
    lost = [float(text.replace(",", "")) for text in rows(opened, "[data-section=failures] tbody tr td:last-child")]
    assert lost == sorted(lost, reverse=True)
    opened.run(click.format(9))
    least = [float(text.replace(",", "")) for text in rows(opened, "[data-section=failures] tbody tr td:last-child")]
    assert least == sorted(least)
    assert least[0] < lost[0]
    assert "descending" not in opened.run("document.querySelector('[data-section=failures] [aria-sort]').ariaSort")
    opened.run(
        "{const box = document.querySelector('article:not([hidden]) [data-section=failures] input[type=search]');"
        "box.value = 'pcie'; box.dispatchEvent(new Event('input'))}"
    )
    found = rows(opened, "[data-section=failures] tbody tr")
    assert found
    assert all("PCIe" in row for row in found)


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


def test_a_cause_leads_to_its_failures(opened):
    opened.go("demo/failures")
    link = "document.querySelector('article:not([hidden]) [data-section=causes] td a')"
    cause = opened.run(f"{link}.innerText")
    opened.run(f"{link}.click()")
    opened.wait("location.hash.includes('cause=')")
    shown = rows(opened, "[data-section=failures] tbody tr td:nth-child(6)")
    assert shown
    assert set(shown) == {cause}


def test_hostile_names_stay_text_in_filters_details_and_files(opened):
    opened.go("hall-b/nodes")
    link = (
        "Array.from(document.querySelectorAll('article:not([hidden]) td a')).find((a) => a.innerText.includes('<img'))"
    )
    assert opened.run(f"{link}.innerText").strip() == HOSTILE
    opened.run(f"{link}.click()")
    opened.wait("location.hash.includes('node=')")
    chip = opened.run("document.querySelector('article:not([hidden]) [data-filtered] .chip').innerText")
    assert HOSTILE in chip
    opened.go("hall-b/failures/failure=hall-b%3A2%3A0")
    assert HOSTILE in opened.run("document.querySelector('article:not([hidden]) .detail').innerText")
    opened.go("hall-b/failures/failure=%3Cimg src=x%3E")
    assert "no failure of that name" in opened.run("document.querySelector('article:not([hidden]) .detail').innerText")


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


def test_a_table_becomes_a_file_with_plain_numbers(opened):
    opened.go("demo/losses")
    opened.run("document.querySelectorAll('article:not([hidden]) details').forEach((fold) => { fold.open = true; })")
    opened.wait("document.querySelector('article:not([hidden]) [data-table-of^=\"Credit\"]') !== null")
    text = opened.run("document.querySelector('article:not([hidden]) [data-table-of^=\"Credit\"]').csv()")
    lines = text.split("\r\n")
    assert lines[0].startswith("Account,User,")
    assert len(lines[1].split(",")) == len(lines[0].split(","))
    assert float(lines[-2].split(",")[-1]) > 1000


def test_a_figure_becomes_a_file_with_one_click(opened):
    opened.go("demo/jobs")
    opened.run(
        "window.saved = {}; URL.createObjectURL = (blob) => { blob.text().then((text) => { saved.text = text; }); "
        "return '#'; }; HTMLAnchorElement.prototype.click = function () { saved.name = this.download; }"
    )
    figure = "document.querySelector('article:not([hidden]) figure:has(.chart[data-chart=drawn])')"
    chart = f"{figure}.querySelector('.chart').dataset"
    opened.run(f"{figure}.querySelector('[aria-label^=\"CSV: \"]').click()")
    opened.wait("saved.text !== undefined")
    saved = opened.run("saved")
    assert saved["name"].endswith(".csv")
    heads, *lines = csv.reader(saved["text"].splitlines())
    assert heads == list(json.loads(opened.run(f"{chart}.columns")).values())
    drawn = json.loads(opened.run(f"document.getElementById({chart}.spec).textContent"))["datasets"]["main"]
    assert len(lines) == len(drawn) > 1


def test_printing_opens_what_is_collapsed(opened):
    opened.go("demo/failures")
    opened.run("window.dispatchEvent(new Event('beforeprint'))")
    assert opened.run("document.querySelectorAll('article:not([hidden]) details:not([open])').length") == 0
    assert len(rows(opened, "[data-section=failures] tbody tr")) > 25
    opened.run("window.dispatchEvent(new Event('afterprint'))")
    assert len(rows(opened, "[data-section=failures] tbody tr")) == 25


def test_the_policy_would_stop_and_report_what_slipped_through(tab, html_file, tmp_path):
    """The guard itself is tried: markup and a foreign address put into the page by hand."""
    broken = tmp_path / "broken.html"
    injected = (
        "<img src=x onerror=\"document.documentElement.dataset.pwned='yes'\">"
        "<script>document.documentElement.dataset.pwned='yes'</script>"
        '<img src="https://192.0.2.1/beacon.png">'
    )
    broken.write_text(html_file.read_text(encoding="utf-8").replace("</main>", f"{injected}</main>"), encoding="utf-8")
    tab.open(broken.as_uri())
    assert not tab.run("document.documentElement.dataset.pwned")
    problems = tab.run("document.documentElement.dataset.problems")
    assert "img-src" in problems
    assert "script-src" in problems


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory, bundle: str) -> tuple[Page, str]:
    """A report of a cluster of which only accounting is known, and of one of which nothing is."""
    with filled(tmp_path_factory.mktemp("bare")).writing() as con:
        tables = hostile_cluster()
        for table in ("marts.dim_nodes", "marts.fct_attempts"):
            insert(con, table, tables[table])
        missing = dict.fromkeys(KINDS, False)
        insert(con, "marts.dim_clusters", [row | missing for row in tables["marts.dim_clusters"]])
        con.execute("insert into marts.dim_clusters (cluster_id, is_simulated) values ('nothing', true)")
        con.execute((Path(__file__).parent / "aggregates.sql").read_text(encoding="utf-8"))
        page = build(read_frames(con), MADE_AT)
    path = tmp_path_factory.mktemp("html") / "index.html"
    path.write_text(render(page, bundle), encoding="utf-8")
    return page, path.as_uri()


@pytest.mark.parametrize(("width", "scheme"), [(1440, "dark"), (768, "light"), (390, "dark")])
def test_clusters_of_which_little_is_known_are_whole_too(tab, bare, width, scheme):
    page, address = bare
    tab.problems.clear()
    tab.show(width, scheme=scheme)
    tab.open(address)
    for leaf in page.leaves:
        tab.go(leaf.address)
        assert tab.run("document.documentElement.dataset.page") == leaf.address
        assert tab.run(OVERLAPS) == [], leaf.address
        assert tab.run(CUT) == [], leaf.address
    assert tab.problems == []
    assert not tab.run("document.documentElement.dataset.pwned || document.documentElement.dataset.problems")
