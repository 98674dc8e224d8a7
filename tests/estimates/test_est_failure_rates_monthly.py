"""Failure rates of each calendar month: they add up to those of the study period, and name gaps of a month."""

from collections import defaultdict
from datetime import date
from functools import partial

import pytest

from assets.estimates.est_failure_rates import est_failure_rates
from assets.estimates.est_failure_rates_monthly import est_failure_rates_monthly
from assets.warehouse import Warehouse
from tests.estimates.five_clusters import build, read

RATE = "failures_per_1000_node_days"
# Two attempts of one incident on both sides of midnight, one that failed as February began, and two days unknown.
PERIODS = """
update marts.dim_clusters set study_from_at = timestamp '2025-12-22', study_to_at = timestamp '2026-03-01';
update marts.fct_attempts set ended_at = timestamp '2026-01-31 23:58' where cluster_id = 'large' and attempt_id = 'a2';
update marts.fct_attempts set ended_at = timestamp '2026-02-01 00:05' where cluster_id = 'large' and attempt_id = 'a3';
update marts.fct_attempts set ended_at = timestamp '2026-02-01 00:00' where cluster_id = 'large' and attempt_id = 'a4';
update marts.fct_attempts set started_at = ended_at - to_seconds(runtime_seconds)
where cluster_id = 'large' and attempt_id in ('a2', 'a3', 'a4');
insert into marts.dim_study_gaps by name
select 'large' as cluster_id, timestamp '2026-02-10' as from_at, timestamp '2026-02-12' as to_at;
"""


@pytest.fixture(scope="module")
def months(tmp_path_factory):
    """Return a function that reads the rows of a table, of a study over three months."""
    house = Warehouse(path=str(tmp_path_factory.mktemp("months") / "faultline.duckdb"))
    build(house)
    with house.writing() as con:
        con.execute(PERIODS)
    for asset in (est_failure_rates, est_failure_rates_monthly):
        asset(warehouse=house)
    return partial(read, house)


def large(months, population="all", counted_as="attempts"):
    rows = months(
        "est_failure_rates_monthly", cluster_id="large", population=population, counted_as=counted_as
    )  # fmt: skip
    return {row["month_date"].month: row for row in rows}


def test_an_incident_belongs_to_the_month_of_its_first_failure(months):
    assert {month: row["failure_count"] for month, row in large(months).items()} == {12: 0, 1: 3, 2: 0}
    assert large(months, counted_as="incidents")[1]["failure_count"] == 2


def test_what_ran_over_midnight_belongs_to_each_month_by_its_time(months):
    """64 nodes for five minutes; the rest of the large cluster's 828 node-days ran in January."""
    rows = large(months)
    assert rows[2]["node_days"] == pytest.approx(64 * 5 / 1440)
    assert rows[1]["node_days"] == pytest.approx(828 - 64 * 5 / 1440)
    assert rows[1][RATE] == pytest.approx(1000 * 3 / rows[1]["node_days"])
    assert rows[1][f"{RATE}_low"] < rows[1][RATE] < rows[1][f"{RATE}_high"]


def test_a_month_that_is_not_whole_says_so(months):
    rows = large(months)
    assert [rows[month]["is_whole_month"] for month in (12, 1, 2)] == [False, True, False]
    assert [rows[month]["seen_days"] for month in (12, 1, 2)] == [10, 31, 26]
    assert rows[12]["note"] == "not a whole month: 10 of its 31 days were seen; no attempt ran"
    assert rows[1]["note"] is None
    assert rows[2]["note"].startswith("not a whole month: 26 of its 28 days were seen; no failure in 0.2222 node-days")
    assert rows[2]["note"].endswith("days left out, accounting is missing: 2")
    assert not [row for row in months("est_failure_rates_monthly") if row["month_date"] >= date(2026, 3, 1)]


def test_the_months_make_up_the_study_period(months):
    sums = defaultdict(lambda: [0.0, 0.0, 0])
    for row in months("est_failure_rates_monthly"):
        for at, name in enumerate(("failure_count", "node_days", "unexplained_count")):
            sums[row["cluster_id"], row["population"], row["counted_as"]][at] += row[name] or 0
    whole = months("est_failure_rates")
    assert len(sums) == len(whole) > 0
    for row in whole:
        found = sums[row["cluster_id"], row["population"], row["counted_as"]]
        assert found == pytest.approx([row[n] or 0 for n in ("failure_count", "node_days", "unexplained_count")])


def test_every_month_has_the_populations_of_the_study_period_and_its_reference(months):
    reference = {
        (r["cluster_id"], r["population"], r["counted_as"]) for r in months("est_failure_rates") if r["is_reference"]
    }
    monthly = months("est_failure_rates_monthly", is_reference=True)
    assert {(r["cluster_id"], r["population"], r["counted_as"]) for r in monthly} == reference
    assert len(monthly) == 3 * len(reference)
