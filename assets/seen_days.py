"""What is said of the days of a period that were seen: enough to compare, all of a month, or fewer."""

from __future__ import annotations

MONTH = 30
MIN_SEEN_DAYS = 7
"""Two periods compare where so many days of each were seen."""
ROUNDING = 0.005
"""Days that the four digits of a note do not show."""


def part_of_month(days: float) -> str:
    """Say how many days of a month were seen; empty where all were, or where nothing is known.

    >>> part_of_month(10.0), part_of_month(29.97), part_of_month(0.0), part_of_month(30.0), part_of_month(float("nan"))
    ('10 days seen', '29.97 days seen', '0 days seen', '', '')
    """
    return f"{days:.4g} days seen" if days < MONTH - ROUNDING else ""


def too_few(*days: float) -> str:
    """Say that periods do not compare, because too little was seen of one of them; empty where they do.

    >>> too_few(30.0, 7.0), too_few(30.0, 3.25)
    ('', 'days seen: 30 and 3.25, and 7 are needed')
    """
    seen = " and ".join(f"{of_period:.4g}" for of_period in days)
    return f"days seen: {seen}, and {MIN_SEEN_DAYS} are needed" if min(days) < MIN_SEEN_DAYS else ""


def days_left_out(count: float) -> str:
    """Say how many days are left out, because they show no failure of most nodes; empty where there are none."""
    return f"days left out, most nodes had no log that was understood: {count:.0f}" if count > 0 else ""
