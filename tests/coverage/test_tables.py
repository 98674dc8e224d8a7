"""Limits hold the truth as often as they promise, from the tables of attempts through the estimates' SQL and models."""

import numpy as np
import pandas as pd
import pytest

from assets.estimates.est_failure_rates import est_failure_rates
from assets.estimates.est_mttf_by_size import est_mttf_by_size
from assets.estimates.est_scale_tests import est_scale_tests
from tests.coverage import tables
from tests.coverage.claims import ENOUGH_EVENTS, Claim

SETS = 120
"""Of each kind; the simulation error of a share of nine in ten is 3 points."""
COVERAGE = Claim("", lambda con, truths: pd.DataFrame())
CONSERVATIVE = Claim("", lambda con, truths: pd.DataFrame(), high=1.0)


@pytest.fixture(scope="module")
def limits(tmp_path_factory):
    """The estimates of every data set, and what was planted: by kind."""
    rng = np.random.default_rng(20)
    sets = {f"{kind}-{i:03d}": tables.draw(kind, rng) for kind in tables.KINDS for i in range(SETS)}
    house = tables.fill(tmp_path_factory.mktemp("tables"), {name: rows for name, (rows, _) in sets.items()})
    for asset in (est_failure_rates, est_mttf_by_size, est_scale_tests):
        asset(warehouse=house)
    truths = {name: truth for name, (_, truth) in sets.items()}
    with house.reading() as con:
        yield con, truths


def shares(found, of_kind, truth_of):
    """How many limits of a kind hold the truth: where enough failures are expected, and where fewer."""
    enough, few = [], []
    for name, low, high, *key in found:
        if name.startswith(of_kind):
            value, expected = truth_of(name, *key)
            held = (low is None or low <= value) and (high is None or value <= high)
            (enough if expected >= ENOUGH_EVENTS else few).append(held)
    return enough, few


@pytest.mark.parametrize("kind", tables.KINDS)
def test_the_reference_rate(limits, kind):
    con, truths = limits
    found = con.execute(
        "select cluster_id, failures_per_1000_node_days_low, failures_per_1000_node_days_high "
        "from estimates.est_failure_rates where is_reference"
    ).fetchall()

    def truth_of(name):
        large = truths[name][truths[name]["gpu_count"] > 128]
        return 1000 * large["expected"].sum() / large["node_days"].sum(), large["expected"].sum()

    enough, few = shares(found, kind, truth_of)
    assert len(enough) > SETS / 2
    assert COVERAGE.holds(sum(enough), len(enough)), f"{sum(enough)} of {len(enough)}"
    assert not few or CONSERVATIVE.holds(sum(few), len(few)), f"{sum(few)} of {len(few)}"


@pytest.mark.parametrize("kind", tables.KINDS)
def test_the_mttf_of_each_size(limits, kind):
    con, truths = limits
    found = con.execute(
        "select cluster_id, mttf_hours_low, mttf_hours_high, gpu_size_bin from estimates.est_mttf_by_size"
    ).fetchall()

    def truth_of(name, size):
        rows = truths[name][truths[name]["gpu_count"] == size]
        return rows["hours"].sum() / rows["expected"].sum(), rows["expected"].sum()

    _, few = shares(found, kind, truth_of)
    assert len(few) > 4 * SETS
    assert CONSERVATIVE.holds(sum(few), len(few)), f"{sum(few)} of {len(few)}"


@pytest.mark.parametrize("kind", tables.KINDS)
def test_the_slope_of_the_rate_over_job_size(limits, kind):
    con, _ = limits
    found = con.execute("select cluster_id, beta_low, beta_high from estimates.est_scale_tests").fetchall()
    enough, _ = shares(found, kind, lambda name: (0.0, ENOUGH_EVENTS))
    assert CONSERVATIVE.holds(sum(enough), len(enough)), f"{sum(enough)} of {len(enough)}"
