"""Rows of the calibration table: estimates with their errors, bands, and how gently a part is judged."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.calibration.estimates import Estimate, difference, mean, quotient, rate, ratio, share

from tests.calibration import Row
from tests.calibration.__main__ import is_outside
from tests.calibration.rows import SCALE, Part, Sheet, about, above, below, between, exactly, near, positive


def test_a_share_has_the_binomial_error() -> None:
    found = share(np.arange(100) < 20)
    assert (found.value, found.counted) == (20.0, "20 of 100")
    assert found.error == pytest.approx(100 * math.sqrt(0.2 * 0.8 / 100), rel=0.01)


def test_nothing_out_of_a_few_is_not_certain() -> None:
    none, all_of_them = share(np.zeros(4, np.bool_)), share(np.ones(4, np.bool_))
    assert (none.value, all_of_them.value) == (0, 100)
    # Agresti and Coull: as if one more of either had been seen.
    for found in (none, all_of_them):
        assert found.error == pytest.approx(100 * math.sqrt(5 / 36 / 6))
    assert rate(np.zeros(0, np.int64), 10.0).error == 0.1
    nothing = share(np.zeros(0, np.bool_))
    assert math.isnan(nothing.value) and nothing.counted == "0 of 0"


def test_a_weighted_share_is_as_uncertain_as_its_heaviest_units() -> None:
    chosen, even, heavy = np.arange(1000) % 4 == 0, np.ones(1000), np.where(np.arange(1000) < 4, 1000.0, 1.0)
    assert share(chosen, heavy).error > 5 * share(chosen, even).error
    numerators, weights = np.array([97.0, 0, 0, 0]), np.array([97.0, 1, 1, 1])
    found = ratio(numerators, weights, 100)
    assert found.value == pytest.approx(97.0)
    assert found.error == pytest.approx(math.sqrt((97 * 0.03) ** 2 + 3 * 0.97**2))
    assert math.isnan(ratio(np.zeros(0), np.zeros(0)).value)


def test_failures_of_one_incident_count_as_one_draw() -> None:
    single, together = rate(np.arange(9), 10.0, 1000), rate(np.zeros(9, np.int64), 10.0, 1000)
    assert single.value == together.value == 900
    assert (single.error, together.error) == (300, 900)


def test_differences_and_quotients_carry_both_errors() -> None:
    assert difference(Estimate(5, 3), Estimate(2, 4)).error == 5
    found = quotient(Estimate(6, 0.6), Estimate(2, 0))
    assert (found.value, found.error) == (3, pytest.approx(0.3))
    assert math.isnan(quotient(Estimate(1), Estimate(0)).value)
    assert mean(np.array([1.0, 3.0])).error == pytest.approx(math.sqrt(0.5))


@pytest.mark.parametrize(
    ("band", "inside", "outside"),
    [
        (near(60, 0.5), (59.5, 60.5), (59.4, 60.6)),
        (about(6.5, 5), (6.18, 6.82), (6.17, 6.83)),
        (exactly(24), (24,), (23, 25)),
        (above(40), (40, 90), (39.9, math.nan)),
        (below(1), (0, 1), (1.1,)),
        (between(2, 4, "about three"), (2, 4), (1.9, 4.1)),
        (positive("more"), (1e-9,), (0, -1)),
    ],
)
def test_bands(band: Any, inside: tuple[float, ...], outside: tuple[float, ...]) -> None:
    def is_inside(value: float) -> bool:
        return Row("", "", "", value, "", band, True).is_inside

    assert all(map(is_inside, inside)) and not any(map(is_inside, outside))


def test_a_part_is_judged_more_gently_or_not_at_all() -> None:
    whole, part = Sheet("rsc1", Part(True, True)), Sheet("rsc1", Part(False, True))
    for sheet in (whole, part):
        sheet.write("3", "share", Estimate(61, 0.5), near(60, 0.5))
        sheet.write("3", "nodes", Estimate(250), exactly(2000), needs=(SCALE,))
        sheet.write("3", "nothing", Estimate(math.nan), near(1, 1))
    assert [row.verdict for row in whole.rows] == ["no", "no", "no"]
    assert [row.verdict for row in part.rows] == ["yes", "not judged", "not judged"]
    assert (part.rows[0].band.low, part.rows[0].band.high) == (58, 62)
    assert "standard errors" in part.rows[0].band.tolerance
    assert is_outside(whole.rows) and not is_outside(part.rows)
