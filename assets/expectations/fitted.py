"""Rules for fitted numbers: possible, finite, inside their own interval, and shown with the counts they rest on."""

from __future__ import annotations

from assets.expectations.rules import Rule, finite, interval, no_row, not_negative, ratio


def fitted(value: str, *row: str) -> list[Rule]:
    """Return the rules for a quantity that cannot be negative, with `_low` and `_high` beside it.

    Parameters
    ----------
    value
        Column of the point estimate.
    row
        Columns that name a row.
    """
    return [
        not_negative(value, *row),
        not_negative(f"{value}_low", *row),
        interval(value, *row),
        finite((value, f"{value}_low", f"{value}_high"), *row, check=f"{value}_finite"),
    ]


def evidenced(*row: str) -> list[Rule]:
    """Return the rules for the columns that say how sure an estimate is and what it rests on.

    Parameters
    ----------
    row
        Columns that name a row.
    """
    return [
        no_row(
            "confidence_level_stated",
            "confidence_level is null or not (confidence_level > 0 and confidence_level < 1)",
            (*row, "confidence_level"),
            "the confidence level is stated and lies between 0 and 1",
        ),
        not_negative("event_count", *row),
        not_negative("exposure", *row),
        finite(("exposure",), *row, check="exposure_finite"),
        no_row(
            "value_needs_evidence",
            "event_count > 0 and coalesce(exposure, 0) = 0 and method is distinct from 'no_exposure'",
            (*row, "event_count", "exposure"),
            "events were seen over some exposure, or the method says that there was none",
        ),
    ]


def corrected_for_chance(*row: str) -> list[Rule]:
    """Give the suite of a table of shares that attribution explains, that chance does, and that are left."""
    shares = ("attributed_ratio", "chance_ratio", "corrected_ratio")
    return [
        *(expectation for share in shares for expectation in fitted(share, *row)),
        *(ratio(share, *row) for share in shares),
        *evidenced(*row),
        no_row(
            "corrected_downwards",
            "corrected_ratio > attributed_ratio + 1e-9",
            (*row, "corrected_ratio", "attributed_ratio"),
            "taking chance off makes no share larger",
        ),
    ]


def between_bounds(value: str, bound: str, *row: str) -> Rule:
    """Forbid a measured ratio outside what unknown checkpoints leave open."""
    return no_row(
        f"{value}_between_bounds",
        f"{value} < {bound}_low - 1e-9 or {value} > {bound}_high + 1e-9",
        (*row, value, f"{bound}_low", f"{bound}_high"),
        "what was measured lies between losing all and losing no work since the last checkpoint",
    )
