"""The first screen: the change since last month, one population and way of counting for all numbers, and its age."""

from __future__ import annotations

import datetime as dt

import pytest

from assets.report.blocks import Measure
from assets.report.first_screen import change_of
from assets.report.numbers import short
from assets.report.page import build, render
from assets.report.queries import without_doubtful_numbers
from assets.report.summary import screens_of
from tests.report.planting import data_of, page_of, screen_of

MONTHS = {"failure_count": 31.0, "other_failure_count": 13.0, "rate": 5.2, "other_rate": 2.1, "ratio": 2.4,
          "ratio_low": 1.4, "ratio_high": 4.3, "verdict": "worse",
          "node_days": 6000.0, "other_node_days": 6100.0, "confidence_level": 0.9}  # fmt: skip


def demo_change(query_rows, **changed):
    """The change of the planted cluster with these months."""
    row = {"comparison": "months", "cluster_id": "demo", "population": "all", "counted_as": "incidents"}
    rows = [row | MONTHS | changed]
    return change_of(data_of(query_rows, rate_ratios=rows))


def test_the_first_sentence_answers_whether_it_is_worse_than_last_month(query_rows):
    worse = demo_change(query_rows)
    assert (worse.in_words, worse.ratio) == ("Worse than last month.", "\N{MULTIPLICATION SIGN} 2.40")
    assert (worse.limits, worse.detail) == ("[1.40, 4.30] (90%)", "31 incidents against 13")
    endless = demo_change(
        query_rows, other_failure_count=0.0, other_rate=0.0, ratio=None, ratio_low=1.2, ratio_high=None
    )
    assert (endless.ratio, endless.limits) == ("more often", "[above 1.20] (90%)")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"failure_count": 2, "other_failure_count": 1, "verdict": "cannot tell"}, "too few: 2 incidents against 1"),
        ({"other_node_days": 0.0}, "there are no two times 30 days to compare"),
        ({"population": "gpus_gt_128"}, "there are no two times 30 days to compare"),
    ],
)
def test_it_cannot_tell_from_too_little_or_from_large_jobs_alone(query_rows, changed, why):
    change = demo_change(query_rows, **changed)
    assert change.in_words == "Cannot tell whether it is worse than last month."
    assert (change.ratio, change.detail, change.tone) == ("cannot tell", why, "")


@pytest.mark.parametrize(
    ("before", "detail"),
    [(9.5, "31 incidents against 13 (9.5 days seen)"), (6.5, "days seen: 30 and 6.5, and 7 are needed")],
)
def test_less_than_a_week_of_a_month_compares_with_nothing(query_rows, before, detail):
    days = {"last_30_days": 30, "30_days_before": before}
    losses = [
        row | {"expected_lost_per_1000_gpu_hours": 20.0, "exposure": days.get(row["period"], row["exposure"])}
        for row in query_rows["losses"]
    ]
    months = [{"comparison": "months", "cluster_id": "demo", "population": "all", **MONTHS}]
    assert change_of(data_of(query_rows, rate_ratios=months, losses=losses)).detail == detail


def test_numbers_of_one_unit_have_one_population_and_one_way_of_counting(page):
    for _, first in screens_of(page):
        measures = [tile.measure for tile in first.tiles] + [first.change.measure]
        known = {measure for measure in measures if measure}
        assert len(known) == len({measure.unit for measure in known})
        assert {measure.counting for measure in known} <= {"expected"}
    _, demo = screens_of(page)[0]
    assert demo.tiles[0].measure == demo.tiles[1].measure
    assert demo.change.measure == Measure("incidents per node-day", "all")


def test_losses_are_expected_ones_and_the_leading_cause_is_the_dearest_of_them(query_rows, page):
    expected = sum(row["expected_lost_gpu_hours"] or 0 for row in data_of(query_rows).rows("lost_by_account"))
    _, demo = screens_of(page)[0]
    assert demo.tiles[3].value == short(expected)
    dearest = max(data_of(query_rows).rows("causes"), key=lambda row: row["expected_lost_gpu_hours"] or 0)
    part = 100 * dearest["expected_lost_gpu_hours"] / expected
    assert f"{short(expected)} GPU-hours" in demo.sentence
    assert f", {part:.0f}% of them to {dearest['label']}." in demo.sentence


def test_a_loss_of_doubtful_evidence_is_at_least_that(query_rows):
    doubt = [{"cluster_id": "demo", "statement": "checks saw at most half", "is_doubtful": True}]
    lost = [row | {"note": "at least: checks saw at most half"} for row in query_rows["losses"]]
    data = data_of(query_rows, evidence_reach=doubt, losses=lost)
    assert {text[:9].lower() for text in (screen_of(data).sentence, screen_of(data).tiles[3].value)} == {"at least "}
    assert page_of(data, "losses").all("p")[1].text == "At least: checks saw at most half."
    sure = data_of(query_rows, evidence_reach=[doubt[0] | {"is_doubtful": False}])
    assert "least" not in screen_of(sure).sentence
    unknown = [row | {"expected_lost_gpu_hours": None, "note": "GPU counts unknown"} for row in query_rows["losses"]]
    tile = screen_of(data_of(query_rows, evidence_reach=doubt, losses=unknown)).tiles[3]
    assert (tile.value, tile.details) == ("unknown", ("GPU counts unknown",))


def test_what_was_lost_is_a_known_sum_where_too_little_was_seen_for_an_interval(query_rows):
    seen = {"has_enough_data": False, "note": "too little to tell: one day"}
    names = ("ettr", "losses", "places", "rates", "scale_tests")
    little = {name: [without_doubtful_numbers(row | seen) for row in query_rows[name]] for name in names}
    (lost,) = data_of(query_rows).rows("losses", period="study", loss="all")
    said = short(lost["expected_lost_gpu_hours"])
    first = screen_of(data_of(query_rows, **little))
    assert (first.tiles[3].value, first.tiles[3].unit, first.sentence) == (said, "so far, no interval", "")
    said = [page_of(data_of(query_rows, **little), name).text for name in ("jobs", "ettr", "nodes")]
    assert "Over job sizes: too little to tell: one day. Failure" in said[0]
    assert "Progress and ETTR by run size" in said[1]
    assert "Places by how they fail" in said[2]


@pytest.mark.parametrize(("hours", "is_old"), [(35, False), (37, True)])
def test_old_data_is_called_old_before_the_first_sentence_and_on_the_index(query_rows, bundle, hours, is_old):
    end = next(row for row in query_rows["clusters"] if row["cluster_id"] == "demo")["data_through_at"]
    html = render(build(query_rows, end + dt.timedelta(hours=hours), fresh_hours=36), bundle)
    first = html[html.index('id="page-demo"') :]
    banner, sentence = first.index('class="note stale" data-until'), first.index('class="sentence"')
    assert banner < sentence
    assert ('data-hours="36" hidden' in first[banner:sentence]) != is_old
    assert ("old: 37.0 h" in html[: html.index('id="page-demo"')]) == is_old
