"""The content of the page: all sections, numbers with count and exposure, unknown as a word, hostile text escaped."""

from __future__ import annotations

import datetime as dt
import re

import pytest

from assets.estimates.table import NEEDED
from assets.report.filling import environment
from assets.report.numbers import short
from assets.report.page import build
from assets.report.queries import TABLES, QueryRows, tables_read, texts
from assets.report.wording import number
from assets.site_rules import toml_text
from tests.report.clusters import HOSTILE, HOSTILE_SCRIPT
from tests.report.planting import MADE_AT
from tests.report.reading import parse, section, table

CHECKPOINTS = "Checkpoints: what a large run without a queue can plan with"
section_of = environment().get_template("blocks.html.j2").module.section_of


def test_rows_of_one_cluster_that_no_section_expects_spoil_only_that_section(query_rows, page):
    spoilt = {**query_rows["checkpoint_plans"][0], "event_count": 3.0, "failures_per_1000_node_days": "many"}
    plans = [row for row in query_rows["checkpoint_plans"] if row["cluster_id"] != spoilt["cluster_id"]]
    other = build(
        QueryRows({**query_rows, "checkpoint_plans": [spoilt, *plans]}), dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    )
    assert [section.key for _, section in sections_of(other)] == [section.key for _, section in sections_of(page)]
    failed = [(name, section.title) for name, section in sections_of(other) if section.title.endswith(": not made")]
    assert failed == [(spoilt["cluster_id"], f"{CHECKPOINTS}: not made")]
    assert not any(section.title.endswith(": not made") for _, section in sections_of(page))
    assert other.not_made == (f"{spoilt['cluster_id']}: {CHECKPOINTS} could not be made; please report it",)
    assert page.not_made == ()


OPTIONAL = {name for name in tables_read() if name.startswith("estimates.")} - {f"estimates.{name}" for name in NEEDED}


@pytest.mark.parametrize("table", sorted(OPTIONAL))
def test_each_section_says_what_could_not_be_computed_in_place_of_why_nothing_is_there(query_rows, table):
    empty = {name: [] for name, text in texts().items() if table in TABLES.findall(text)}
    failed = [{"table_name": table, "reason": "MemoryError: 8 GB", "run_id": "run"}]
    page = build(QueryRows({**query_rows, **empty, "not_computed": failed}), MADE_AT)
    said = f"{table} could not be computed: MemoryError: 8 GB"
    assert (page.warnings[-1], page.not_made) == (said, ())
    made = parse("".join(str(section_of(part, "")) for shown in page.pages for part in shown.sections))
    lacking = [part for part in made.all("section") if said in part.text]
    assert lacking
    for part in lacking:
        assert part.all("p")[0].text == said
        assert not [note for note in part.all("p", class_="note") if "hidden" not in note.attributes]
    change = next(shown.first.change for shown in page.chapters[0].pages if shown.first)
    assert (f"{table} could not be computed" in change.detail) == (table == "estimates.est_rate_ratios")


def sections_of(page):
    """Each section with the cluster it is about."""
    return [
        (chapter.cluster_id, section)
        for chapter in page.chapters
        for shown in chapter.pages
        for section in shown.sections
    ]


def test_simulated_is_said_once_on_each_page(root):
    pages = root.all("article")
    assert len(pages) > 10
    for page in pages:
        is_said = page.attributes.get("data-cluster") == "demo" or page.attributes["id"] == "page-index"
        assert page.text.count("SIMULATED") == is_said, page.attributes["id"]


def test_headline_rates_carry_count_exposure_and_interval(demo, query_rows):
    rows = {tuple(row[:2]): row[2:] for row in table(section(demo, "headline"), "Failure rates").rows()}
    (rate,) = (
        row for row in query_rows["rates"]
        if (row["cluster_id"], row["population"], row["counted_as"]) == ("demo", "all", "attempts")
    )  # fmt: skip
    value, limits, rests_on, _ = rows["all jobs", "attempts quoted"]
    low, high = (short(rate[f"failures_per_1000_node_days_{end}"]) for end in ("low", "high"))
    assert (value, limits) == (short(rate["failures_per_1000_node_days"]), f"{low} to {high}")
    assert rests_on.startswith(f"{rate['failure_count']:.0f} failed attempts in ")


def test_missing_evidence_names_consequence_and_command(hall, demo):
    rows = {row[0]: row for row in table(section(hall, "gaps"), "Gaps").rows()}
    for kind in ("Health checks", "slurmctld.log", "Inventory", "Repair tickets", "Excluded nodes"):
        assert rows[kind][1] == "missing"
        assert rows[kind][2] and rows[kind][3]
    assert "Kernel messages" not in rows
    assert {"Times: local", "Quarantined: bad timestamp"} <= rows.keys()
    assert "Nothing is missing" in section(demo, "gaps").text


def test_provenance_accounts_for_every_line(root):
    provenance = root.all("section", data_section="provenance")[0]
    assert table(provenance, "Failed checks").rows()[0][:2] == ["raw.sacct", "few_unknown"]
    total = table(provenance, "Input lines").rows()[-1]
    lines = [int(text.replace(",", "")) for text in total[3:]]
    assert lines[0] == sum(lines[1:])
    assert len(table(provenance, "Input files").rows()) == 26


def test_the_papers_counting_stands_once_beside_ours(root, query_rows, planted):
    rows = {row[0]: row[1:] for row in table(root.all("section", id="paper")[0], "Failures and lost").rows()}
    states = {row["cluster_id"]: row for row in query_rows["states"] if row["is_infrastructure"]}
    with planted.reading() as con:
        paper, expected = con.execute(
            "select sum(first_order_gpu_hours) + sum(second_order_gpu_hours), sum(expected_lost_gpu_hours) "
            "from marts.agg_lost_goodput where cluster_id = 'demo'"
        ).fetchone()
    counts = (states["demo"]["expected_failure_count"], states["demo"]["attempt_count"])
    assert rows["demo"] == [*map(number, counts), short(expected), short(paper)]


def test_hostile_names_stay_text(html, root):
    assert not root.all("img")
    assert HOSTILE not in html
    assert HOSTILE_SCRIPT not in html
    assert "\\u003cimg src=x onerror=" in html, "in the tables, as text of the JSON"
    kinds = [script.attributes.get("type", "") for script in root.all("script")]
    assert kinds.count("") == 4
    assert set(kinds) == {"", "application/json", "application/gzip"}


def test_nothing_is_loaded_from_anywhere(html, root):
    for tag in ("link", "iframe", "object", "embed", "base", "source", "audio", "video"):
        assert not root.all(tag), tag
    assert not [form for form in root.all("form") if "action" in form.attributes]
    assert not [script for script in root.all("script") if "src" in script.attributes]
    assert not [link for link in root.all("a") if not (link.attributes["href"] or "").startswith("#")]
    assert "@import" not in html
    assert not re.search(r"url\(\s*['\"]?https?:", html)
    assert not re.search(r"\b(nan|NaN|None|inf|NaT)\b", root.all("main")[0].text), "an estimate that is unknown"
    policy = next(link.attributes["content"] for link in root.all("meta") if "http-equiv" in link.attributes)
    assert policy is not None
    assert policy.startswith("default-src 'none'")
    assert "unsafe-eval" not in policy
    assert "'unsafe-inline'" not in policy.split("script-src")[1]


def test_what_no_rule_knows_is_listed_with_lines_to_paste(hall):
    ((kind, _, events, nodes, *_, lines),) = table(section(hall, "gaps"), "What no rule knows").rows()
    assert (kind, events, nodes) == ("health check", "7", "2")
    assert lines.startswith(f"[[health.checks]] name = {toml_text(HOSTILE)} category = ")
