"""The grid holds the paper's golden values, and its line parts it."""

import pytest


@pytest.fixture
def cell(rows):
    def cell(gpu_count, rate, checkpoint, scenario="free_writes"):
        (row,) = rows(
            "est_ettr_grid", scenario=scenario, gpu_count=gpu_count, failures_per_1000_node_days=rate,
            checkpoint_minutes=checkpoint,
        )  # fmt: skip
        return row

    return cell


@pytest.mark.parametrize(
    ("gpu_count", "rate", "checkpoint", "scenario", "published"),
    [
        (16_000, 6.5, 60, "free_writes", 0.684),
        (100_000, 2.34, 21, "free_writes", 0.685),
        (100_000, 2.34, 2, "fast_restart", 0.939),
    ],
)
def test_goldens_of_the_published_form(cell, gpu_count, rate, checkpoint, scenario, published):
    assert cell(gpu_count, rate, checkpoint, scenario)["ettr_expected"] == pytest.approx(published, abs=1e-3)


@pytest.mark.parametrize(("checkpoint", "exact"), [(60, 0.720), (5, 0.9345)])
def test_goldens_of_the_exact_form(cell, checkpoint, exact):
    row = cell(16_000, 6.5, checkpoint)
    assert row["ettr_expected_exact"] == pytest.approx(exact, abs=1e-3)
    assert (row["node_count"], row["restart_minutes"], row["write_minutes"]) == (2000, 5, 0)
    assert row["mttf_hours"] == pytest.approx(24 / 13)


def test_every_combination_is_there_once(rows):
    found = rows("est_ettr_grid")
    keys = {tuple(row[name] for name in ("scenario", "gpu_count", "failures_per_1000_node_days", "checkpoint_minutes"))
            for row in found}  # fmt: skip
    assert len(found) == len(keys) == 4 * 12 * 10 * 12


def test_the_line_lies_between_what_reaches_the_target_and_what_misses_it(rows):
    found = rows("est_ettr_grid", scenario="async_writes", gpu_count=16_000, failures_per_1000_node_days=6.5)
    line = found[0]["checkpoint_minutes_longest"]
    assert 5 < line < 10
    reached = {row["checkpoint_minutes"]: row["ettr_expected_exact"] >= row["ettr_target"] for row in found}
    assert reached[5.0] and reached[7.0]
    assert not any(is_reached for minutes, is_reached in reached.items() if minutes > line)


def test_a_target_out_of_reach_has_no_line(cell):
    assert cell(100_000, 6.5, 5)["checkpoint_minutes_longest"] is None


def test_nothing_is_claimed_to_be_measured(rows):
    for row in rows("est_ettr_grid"):
        assert (row["method"], row["event_count"], row["exposure"], row["confidence_level"]) == (
            "assumed", None, None, None,
        )  # fmt: skip
