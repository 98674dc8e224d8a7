"""Expected ETTR against the paper's statements and recomputed values; `tests.proof` simulates runs."""

import pytest

from assets.model.checkpoint import young_minutes
from assets.model.ettr import expected_ettr, expected_ettr_exact

RSC1, RSC2 = 0.0065, 0.00234  # failures per node-day


@pytest.mark.parametrize(
    ("gpu_count", "rate", "checkpoint", "restart", "queue", "published"),
    [
        (16_384, RSC1, 60, 5, 0, 0.676),
        (16_384, RSC1, 5, 5, 0, 0.931),
        (16_000, RSC1, 5, 5, 1, 0.924),
        (16_000, RSC1, 5, 10, 0, 0.887),
        (2048, RSC1, 60, 5, 1, 0.958),
        (4096, RSC1, 60, 5, 1, 0.917),
        (4096, RSC1, 60, 5, 30, 0.860),
        (100_000, RSC1, 7, 5, 0, 0.520),
        (100_000, RSC1, 7, 5, 1, 0.493),
        (100_000, RSC2, 21, 5, 0, 0.685),
        (100_000, RSC2, 2, 2, 0, 0.939),
        (100_000, RSC2, 2, 2, 1, 0.920),
        (131_072, RSC2, 2, 2, 1, 0.896),
    ],
)
def test_goldens_of_the_papers_first_version(gpu_count, rate, checkpoint, restart, queue, published):
    ettr = expected_ettr(gpu_count / 8 * rate, checkpoint, restart_minutes=restart, queue_minutes=queue)
    assert ettr == pytest.approx(published, abs=1e-3)


def test_golden_of_16384_gpus_in_the_exact_form():
    assert expected_ettr_exact(2048 * RSC1, 60, restart_minutes=5) == pytest.approx(0.714, abs=1e-3)


def test_goldens_of_what_12000_gpus_need_for_nine_tenths():
    """At today's rate, writes of 21.5 seconds reach the threshold; with restarts of ten minutes no write does."""
    per_day = 1500 * RSC1
    for write, restart, published in [(21.5 / 60, 5, 0.900), (10 / 60, 10, 0.887)]:
        interval = young_minutes(per_day, write)
        ettr = expected_ettr(per_day, interval, restart_minutes=restart, write_minutes=write)
        assert ettr == pytest.approx(published, abs=1e-3)


def test_a_run_that_never_fails_loses_only_writes():
    for form in (expected_ettr, expected_ettr_exact):
        assert form(0.0, 50, restart_minutes=5, write_minutes=10) == pytest.approx(50 / 60)


def test_a_finite_run_also_pays_its_first_start_and_first_queue():
    for form in (expected_ettr, expected_ettr_exact):
        ettr = form(0.0, 60, restart_minutes=6, queue_minutes=18, productive_days=1.0)
        assert ettr == pytest.approx(1440 / (1440 + 6 + 18))


def test_both_forms_agree_where_failures_are_rare():
    settings = {"restart_minutes": 5, "write_minutes": 2, "queue_minutes": 10, "productive_days": 3.0}
    assert expected_ettr(0.01, 60, **settings) == pytest.approx(expected_ettr_exact(0.01, 60, **settings), abs=1e-5)


def test_hopeless_runs_end_at_zero_and_never_below():
    assert expected_ettr(100.0, 60, restart_minutes=5) == 0.0
    assert expected_ettr_exact([100.0, 1e6], 60, restart_minutes=5) == pytest.approx([0.0464, 0.0], abs=1e-4)
