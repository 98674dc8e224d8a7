"""Change points against a published series, planted changes, and series without any; Laplace's statistic."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import stats

from assets.model.change_points import find_rate_changes, laplace_trend

# Coal-mining disasters in Britain a year, 1851 to 1961 (R. G. Jarrett, Biometrika 66 (1979) 191-193).
DISASTERS = [
    4, 5, 4, 1, 0, 4, 3, 4, 0, 6, 3, 3, 4, 0, 2, 6, 3, 3, 5, 4, 5, 3, 1, 4, 4, 1, 5, 5, 3, 4, 2, 5, 2, 2, 3, 4, 2, 1, 3,
    2, 2, 1, 1, 1, 1, 3, 0, 0, 1, 0, 1, 1, 0, 0, 3, 1, 0, 3, 2, 2, 0, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 2, 1, 0, 0, 0, 1, 1,
    0, 2, 3, 3, 1, 1, 2, 1, 1, 1, 1, 2, 4, 2, 0, 0, 1, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1,
]  # fmt: skip


def test_coal_mining_disasters_change_about_1891():
    """Carlin, Gelfand and Smith (1992) and all since: about 3.1 a year until about 1890, 0.9 after."""
    segments = find_rate_changes(DISASTERS, np.ones(111))
    assert (1851 + segments.start[1], segments.start.size) == (1892, 2)
    assert 1851 + segments.start_low[1] <= 1890 <= 1851 + segments.start_high[1] <= 1896
    assert segments.event_count / segments.exposure == pytest.approx([3.1, 0.9], abs=0.05)
    assert segments.event_count.sum() == 191


def test_the_partition_is_the_best_of_all_partitions():
    """Every set of changes of a short series is tried."""
    rng = np.random.default_rng(51)
    counts, exposure = np.append(rng.poisson(2.0, 7), rng.poisson(9.0, 6)), rng.uniform(0.5, 2.0, 13)
    found = find_rate_changes(counts, exposure, penalty_factor=2.0, minimum_cells=3)

    def loss(edges):
        spans = [(counts[a:b].sum(), exposure[a:b].sum()) for a, b in pairwise(edges)]
        gains = sum(2 * k * np.log(t / k) if k else 0.0 for k, t in spans) / found.dispersion
        return gains + 2 * np.log(13) * (len(edges) - 2)

    sets = [[i + 1 for i in range(12) if mask >> i & 1] for mask in range(1 << 12)]
    allowed = [edges for edges in ([0, *inner, 13] for inner in sets) if np.diff(edges).min() >= 3]
    assert found.start.tolist() == min(allowed, key=loss)[:-1]
    assert found.start.size == 2


def test_three_planted_rates_come_back():
    rng = np.random.default_rng(52)
    exposure = rng.uniform(900.0, 1100.0, 334)
    rate = np.repeat([0.003, 0.009, 0.004], [100, 60, 174])
    segments = find_rate_changes(rng.poisson(rate * exposure), exposure)
    assert segments.start == pytest.approx(np.array([0, 100, 160]), abs=4)
    assert (segments.start_low[1:] <= [100, 160]).all() and (segments.start_high[1:] >= [100, 160]).all()
    assert 1000 * segments.event_count / segments.exposure == pytest.approx(np.array([3.0, 9.0, 4.0]), rel=0.15)


def test_a_change_of_exposure_is_no_change_of_rate():
    exposure = np.repeat([100.0, 1000.0], 60)
    counts = np.random.default_rng(53).poisson(0.01 * exposure)
    assert find_rate_changes(counts, exposure).start.tolist() == [0]


def test_a_burst_shorter_than_a_span_is_no_rate():
    counts = np.ones(100, dtype=int)
    counts[50:52] = 40
    segments = find_rate_changes(counts, np.ones(100), minimum_cells=7)
    assert segments.dispersion > 5
    assert segments.start.tolist() == [0]


def test_days_without_exposure_do_no_harm():
    exposure = np.concatenate([np.zeros(10), np.full(40, 10.0), np.zeros(10), np.full(40, 10.0)])
    counts = np.concatenate([np.zeros(10), np.full(40, 1), np.zeros(10), np.full(40, 6)]).astype(int)
    segments = find_rate_changes(counts, exposure)
    assert segments.start.size == 2
    assert 50 <= segments.start[1] <= 60
    assert segments.event_count.tolist() == [40.0, 240.0]


def test_no_events_and_short_series_are_a_single_span():
    assert find_rate_changes([0] * 30, [1.0] * 30).start.tolist() == [0]
    assert find_rate_changes([0, 9, 9], [1.0] * 3).start.tolist() == [0]


def weighted(rng, per_day, days):
    """Sums of the probabilities of uncertain events."""
    return np.array(
        [rng.choice([0.2, 0.6, 0.95, 1.0], k, p=[0.2, 0.1, 0.3, 0.4]).sum() for k in rng.poisson(per_day, days)]
    )


def grouped(rng, per_day, days):
    """Events that come two at a time on average: their variance is three times the mean."""
    return np.array([rng.geometric(0.5, k).sum() for k in rng.poisson(per_day / 2, days)])


@pytest.mark.parametrize("counts_of", [weighted, grouped])
def test_eight_causes_and_their_sum_show_a_change_in_at_most_2_of_100_families(counts_of):
    rng, exposure, families = np.random.default_rng(60), np.random.default_rng(61).uniform(70.0, 130.0, 26), []
    for _ in range(60):
        causes = [counts_of(rng, 2.0 * share, 26) for share in (0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05)]
        found = (find_rate_changes(c, exposure, family_size=9) for c in (sum(causes), *causes))
        families.append(any(segments.start.size > 1 for segments in found))
    assert np.mean(families) <= 0.02


def test_a_family_of_series_asks_more_of_each():
    """3 log 60 for one series; nine more add 2 log 10. With measured scatter, the quantile of F."""
    counts, exposure = np.tile([1, 0, 1, 1], 15), np.ones(60)
    assert find_rate_changes(counts, exposure).dispersion == 1.0
    assert find_rate_changes(counts, exposure).penalty == pytest.approx(3 * np.log(60))
    assert find_rate_changes(counts, exposure, family_size=10).penalty == pytest.approx(3 * np.log(60) + 2 * np.log(10))
    scattered = find_rate_changes(np.tile([4, 0, 1, 0], 15), exposure)
    assert scattered.dispersion > 1.0
    assert stats.f.sf(scattered.penalty, 1, 59 * 2 / 3) == pytest.approx(stats.chi2.sf(3 * np.log(60), 1))


def test_laplace_of_fine_cells_is_the_statistic_of_the_books():
    """(mean(s) - S/2) / (S sqrt(1 / 12K)) of exact times."""
    times = np.random.default_rng(57).beta(1.5, 1.0, 300) * 1000
    counts, _ = np.histogram(times, bins=100_000, range=(0, 1000))
    score = (times.mean() - 500) / (1000 * np.sqrt(1 / (12 * 300)))
    assert laplace_trend(counts, np.full(100_000, 0.01)).score == pytest.approx(score, abs=1e-3)


def test_laplace_of_the_disasters_falls():
    trend = laplace_trend(DISASTERS, np.ones(111))
    assert trend.score == pytest.approx(-7.558, abs=5e-4)
    assert trend.p_value < 1e-10


@pytest.mark.parametrize("counts_of", [weighted, grouped])
def test_laplace_keeps_its_word_where_events_are_uncertain_or_come_in_groups(counts_of):
    rng, exposure = np.random.default_rng(62), np.random.default_rng(63).uniform(70.0, 130.0, 60)
    p_values = np.array([laplace_trend(counts_of(rng, 1.0, 60), exposure).p_value for _ in range(800)])
    assert 0.08 - 0.02 <= (p_values < 0.10).mean() <= 0.12 + 0.02
