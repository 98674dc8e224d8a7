"""Marts that another engine built: the estimates are of these, not of what a refresh built before."""

import duckdb
import pytest

from orchestration import spark
from orchestration.settings.home import Home
from tests.conftest import refresh
from tests.homes import ask, copy_of

EXPECTED = {
    "est_failure_rates": "sum(failure_count) filter (counted_as in ('attempts', 'incidents'))",
    "est_mttf_by_size": "sum(failure_count)",
    "est_rate_ratios": "sum(failure_count + other_failure_count)",
    "est_lost_gpu_hours": "sum(expected_failure_count) filter (loss = 'all' and period = 'study')",
    "est_scale_tests": "sum(event_count)",
}
"""Sums of probabilities, from inputs that are tables and from views."""


@pytest.fixture
def halved(testbed_home, tmp_path):
    """The estimates of marts in which every failure is half as likely."""
    home = Home.at(copy_of(testbed_home, tmp_path).root)
    folder = tmp_path / "marts"
    with duckdb.connect(str(testbed_home.build_file), read_only=True) as con:
        for (mart,) in con.execute(spark.MARTS).fetchall():
            (folder / mart).mkdir(parents=True)
            is_halved = mart == "fct_failures"
            columns = "* replace (posterior_probability / 2 as posterior_probability)" if is_halved else "*"
            con.execute(f"copy (select {columns} from marts.{mart}) to '{folder / mart}/part.parquet' (format parquet)")
    spark.import_marts(home, folder)
    refresh(home, is_from_marts=True)
    return home


def test_estimates_are_of_the_marts_that_were_imported(testbed_home, halved):
    for table, expected in EXPECTED.items():
        ((before,),) = ask(testbed_home, f"select {expected} from estimates.{table}")
        ((after,),) = ask(halved, f"select {expected} from estimates.{table}")
        assert before > 0
        assert after == pytest.approx(before / 2), table
