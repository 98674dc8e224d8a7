"""The report of the genuine capture, four minutes long, says one thing of one matter on all its pages."""

from __future__ import annotations

import re

import pytest

from tests.report.reading import pages, parse, section, table


@pytest.fixture(scope="module")
def sample(testbed_home):
    return pages(parse(testbed_home.report.read_text(encoding="utf-8")), "testbed")


def test_newer_logs_go_where_they_are(sample, testbed_home):
    assert f"Put newer logs into {testbed_home.sources / 'testbed'} , then" in sample.text
    assert "FOLDER" not in section(sample, "gaps").text


def test_what_failures_cost_is_one_number(sample):
    assert "GPU-hours lost to failures, all jobs, whole study 0.607 so far, no interval" in sample.text
    assert section(sample, "losses").text.count("0.607") > 3
    by_cause = table(section(sample, "causes"), "Failure rate by cause").rows()
    assert sum(float(row[2]) for row in by_cause) == pytest.approx(0.607, abs=0.001)
    by_node = table(section(sample, "nodes"), "Nodes with the most").rows()
    assert "unknown" not in {row[5] for row in by_node}


def test_the_period_is_one_duration(sample):
    assert set(re.findall(r"(3\.6\d) min", sample.text)) == {"3.65"}


def test_every_count_of_failures_says_what_it_counts(sample):
    assert "7.99 infrastructure failures expected of 8 attempts, in 7 incidents" in sample.text
    assert "10 nodes taken down by incidents in 0.0189 node-days" in sample.text
    assert "10 incidents" not in sample.text
    lemons = section(sample, "lemons").text
    assert "only 6.99 failures of nodes" in lemons
    assert "each an incident of known culprit, by its probability" in lemons
    assert "7 failures of known culprit" not in lemons


def test_a_reason_is_quoted_as_what_somebody_wrote(sample):
    given = "lemon: repeated job failures, ticket 4802"
    assert sample.text.count(f'reason given in Slurm: "{given}"') == 2
    columns = [
        head.text
        for found in sample.all("table")
        for row in found.all("tbody")[0].all("tr")
        for head, cell in zip(found.all("th"), row.all("td"), strict=False)
        if cell.text == given
    ]
    assert columns == ["Reason given", "Last reason given"]
    assert sample.text.count(given) == 4, "it stands nowhere else"
