"""One truth: all pages and commands report the same number for the same quantity.

Regular expressions find each number that readers may compare, in all pages, in the summary, in the output of commands
and in the metrics. All statements about one quantity have one value.
"""

from __future__ import annotations

import io
import re
from collections import defaultdict
from collections.abc import Iterator

import pytest
from rich.console import Console

from assets.report.numbers import duration, short
from assets.report.page import build, render
from assets.report.queries import QueryRows, read_queries
from assets.report.summary import write_summary
from orchestration.metrics.collecting import exposition
from orchestration.read_commands.plan import RunToPlan, plan_on_cluster
from orchestration.read_commands.published import ReadingError, published
from orchestration.refresh.outcome import read_outcome
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home
from tests.report.planting import MADE_AT
from tests.report.reading import pages, parse, table

CAPTURE_AND_MINIMAL = {"testbed", "secrets", "time-limits", "checkpoints-every-ten-minutes"}
NUMBER = r"([\d,]*\.?\d+)"
LIMITS = r"(?: \[[^]]+\])?"
STATEMENTS = {
    "expected loss of the study, all jobs, GPU-hours": (
        rf"{NUMBER} GPU-hours{LIMITS}(?: \([^)]+\))? were lost to failures",
        rf"{NUMBER} GPU-hours lost, each loss counted with its probability",
        rf"infrastructure failures? expected, which cost {NUMBER}{LIMITS} GPU-hours",
    ),
    "failures expected, all jobs": (rf"(?<![\d.,]){NUMBER} infrastructure failures?(?=[,:]| in | expected)",),
    "rate that is quoted, per 1,000 node-days": (
        rf"Failures per 1,000 node-days, [^:]+?: {NUMBER} \[",
        rf"failure rate {NUMBER} per 1,000 node-days",
    ),
    "MTTF of the whole cluster": (r"MTTF of a job on all [\d,]+ GPUs:? ([\d.,]+ \w+) \[",),
    "verdict on the last month": (r"(Worse than|Better than|No change shown since|Cannot tell whether it is worse)",),
}
"""A quantity (definition, population, unit), and the words that state it."""
SERIES = {
    "failures_per_1000_node_days": ("", "failure rate {} per 1,000 node-days", short),
    "mttf_hours": ('job="whole_cluster"', "MTTF of a job on all 1 GPUs {} [", duration),
    "expected_infrastructure_failures": ("", "{} infrastructure failures expected", short),
    "expected_lost_gpu_hours": ('period="study"', "{} GPU-hours lost, each loss counted with its probability", short),
}
"""The labels of a metric's series, and the sentence of a page with the same value."""
Statements = dict[str, dict[str, dict[str, set[str]]]]


def statements(text: str) -> Iterator[tuple[str, str]]:
    """Yield the quantities and values in a text, without the zeros that only some writers add."""
    for thing, patterns in STATEMENTS.items():
        for value in (value for pattern in patterns for value in re.findall(pattern, text)):
            yield thing, f"{float(value.replace(',', '')):g}" if value[-1].isdigit() else value


def statements_by(home: Home, names: set[str]) -> Statements:
    """Collect the values of each source for each cluster, by quantity."""
    with published(home.published_file) as con:
        query_rows = read_queries(con)
    chosen = [row for row in query_rows["clusters"] if row["is_simulated"] or row["cluster_id"] in names]
    page = build(QueryRows({**query_rows, "clusters": chosen}), MADE_AT)
    sayings: Statements = defaultdict(lambda: defaultdict(lambda: defaultdict(set)))
    root, summary = parse(render(page, "")), write_summary(page, None, MADE_AT)
    series, outcome = exposition(HomeSettings(home)).decode(), read_outcome(home, "published", 0.0)
    outcome.print(Console(file=(screen := io.StringIO()), width=1000))
    printed = screen.getvalue()
    index = {row[0].split(" ")[0]: row for row in table(root, "All clusters").rows()}
    for chapter in page.chapters:
        name = chapter.cluster_id
        texts = {shown.attributes["id"]: shown.text for shown in pages(root, chapter.anchor).children}
        texts["summary.md"] = "".join(part for part in summary.split("\n* ") if part.startswith(f"**{name}**"))
        texts["refresh"] = "".join(part for part in printed.split("\n\n") if part.startswith((f"{name}:", f"{name} (")))
        rate, mttf, lost = (cell.partition(" [")[0] for cell in index[name][2:5])
        cells = {"failures_per_1000_node_days": rate, "mttf_hours": mttf, "expected_lost_gpu_hours": lost}
        texts["index"] = "; ".join(SERIES[metric][1].format(cell) for metric, cell in cells.items())
        for metric, (label, phrase, write) in SERIES.items():
            named = rf'^faultline_{metric}{{cluster="{re.escape(name)}",.*{label}.*}} (\S+)$'
            found = re.findall(named, series, re.MULTILINE)
            texts[f"metric {metric}"] = "; ".join(phrase.format(write(float(value))) for value in found)
        for source, text in texts.items():
            for thing, value in statements(text):
                sayings[name][thing][source].add(value)
    return sayings


@pytest.fixture(scope="module")
def sayings(minimal_home: Home, many_clusters: object) -> Statements:
    """The statements about the capture, the simulated clusters and three minimal ones."""
    return statements_by(minimal_home, CAPTURE_AND_MINIMAL)


def test_no_source_says_another_number_of_the_same_thing(sayings):
    assert len(sayings) >= len(CAPTURE_AND_MINIMAL) + 1
    for cluster, things in sayings.items():
        for thing, sources in things.items():
            assert len(set().union(*sources.values())) == 1, (cluster, thing, dict(sources))


def test_each_number_is_told_in_several_places(sayings):
    for thing in STATEMENTS:
        assert max(len(things[thing]) for things in sayings.values()) > 1, thing


def test_no_source_tells_a_rate_of_a_cluster_of_minutes(sayings):
    assert not sayings["testbed"]["rate that is quoted, per 1,000 node-days"]
    assert not sayings["testbed"]["MTTF of the whole cluster"]


def test_without_accounting_a_plan_asks_for_a_rate(minimal_home):
    with pytest.raises(ReadingError, match=r"no accounting.*give --rate"):
        plan_on_cluster(minimal_home.published_file, "failures-alone", RunToPlan(8, 1.0, 0.9))
