"""Notes on how many days of a period were seen: enough to compare, a whole month, or fewer."""

from __future__ import annotations

MONTH = 30
MIN_SEEN_DAYS = 7
"""Two periods are comparable if at least this many days of each were seen."""
ROUNDING = 0.005
"""A difference in days that the four digits of a note do not show."""


def part_of_month(days: float) -> str:
    """Return how many days of a month were seen, as a note; empty if all were, or if it is unknown.

    >>> part_of_month(10.0), part_of_month(29.97), part_of_month(0.0), part_of_month(30.0), part_of_month(float("nan"))
    ('10 days seen', '29.97 days seen', '0 days seen', '', '')
    """
    return f"{days:.4g} days seen" if days < MONTH - ROUNDING else ""


def too_few(*days: float) -> str:
    """Return a note that periods are not comparable, as too little of one was seen; empty if they are.

    >>> too_few(30.0, 7.0), too_few(30.0, 3.25)
    ('', 'days seen: 30 and 3.25, and 7 are needed')
    """
    seen = " and ".join(f"{of_period:.4g}" for of_period in days)
    return f"days seen: {seen}, and {MIN_SEEN_DAYS} are needed" if min(days) < MIN_SEEN_DAYS else ""


def days_left_out(count: float) -> str:
    """Return a note on the days left out because they show no failure of most nodes; empty if there are none."""
    return f"days left out, most nodes had no log that was understood: {count:.0f}" if count > 0 else ""
