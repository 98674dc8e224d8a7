"""How the report writes numbers: counts in full, three significant digits elsewhere, commas between thousands.

Unknown is a word here, never a zero, and a rate is written together with its event count and exposure. Nothing in
this module depends on the locale or the clock.
"""

from __future__ import annotations

import datetime as dt
import math

UNKNOWN = "unknown"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
DEFAULT_CONFIDENCE = 0.9
NO_PROGRESS = 0.001
"""A smaller ETTR is written as under this value: the run makes no progress worth a number."""


def whole(value: float | None) -> str:
    """Write a count in full.

    >>> whole(12345), whole(None)
    ('12,345', 'unknown')
    """
    return UNKNOWN if value is None or math.isnan(value) else f"{round(value):,}"


def short(value: float | None, digits: int = 3) -> str:
    """Write a measured value with `digits` significant digits.

    >>> short(6.5), short(0.02254), short(184.26), short(1.2e-6), short(None)
    ('6.50', '0.0225', '184', '1.20 × 10⁻⁶', 'unknown')
    """
    if value is None or math.isnan(value):
        return UNKNOWN
    if math.isinf(value):
        return "unbounded"
    if value == 0:
        return "0"
    mantissa, exponent_text = f"{value:.{digits - 1}e}".split("e")
    exponent = int(exponent_text)
    if exponent >= 7 or exponent < -3:
        return f"{mantissa} × 10{str(exponent).translate(_SUPERSCRIPTS)}"
    rounded = float(f"{mantissa}e{exponent}")
    return f"{rounded:,.{max(0, digits - 1 - exponent)}f}"


def signed(value: float) -> str:
    """Write a value that may be negative, with a minus sign and no hyphen.

    >>> signed(-0.0155), signed(0.345)
    ('\N{MINUS SIGN}0.0155', '0.345')
    """
    return f"\N{MINUS SIGN}{short(-value)}" if value < 0 else short(value)


def share(ratio: float | None) -> str:
    """Write a ratio as a percentage.

    >>> share(0.187), share(0.0), share(1.0), share(0.00042)
    ('18.7%', '0%', '100%', '0.042%')
    """
    if ratio is None or math.isnan(ratio):
        return UNKNOWN
    percent = 100 * ratio
    return f"{short(percent, 3 if percent >= 1 else 2)}%"


def chance(probability: float | None) -> str:
    """Write a probability no finer than the resolution of a simulation.

    >>> chance(0.0), chance(0.123), chance(1.0), chance(None)
    ('under 0.1%', '12.3%', 'over 99.9%', 'unknown')
    """
    if probability is None or math.isnan(probability):
        return UNKNOWN
    if probability < 0.001:
        return "under 0.1%"
    return "over 99.9%" if probability > 0.999 else share(round(probability, 3))


def duration(hours: float | None) -> str:
    """Write a time span in the unit a person would choose.

    >>> duration(0.2254), duration(28.85), duration(3691), duration(0.001), duration(0)
    ('13.5 min', '28.9 h', '154 days', '3.60 s', '0 h')
    """
    if hours is None or math.isnan(hours):
        return UNKNOWN
    if hours == 0:
        return "0 h"
    for unit, hours_in_unit, below in (("s", 1 / 3600, 1 / 60), ("min", 1 / 60, 1.0), ("h", 1.0, 48.0)):
        if hours < below:
            return f"{short(hours / hours_in_unit)} {unit}"
    return f"{short(hours / 24)} days" if hours < 24 * 1000 else f"{short(hours / 24 / 365.25)} years"


def minutes(value: float | None) -> str:
    """Write a time span given in minutes, as it was set.

    >>> minutes(5.0), minutes(0.5), minutes(0.0), minutes(None)
    ('5 min', '30 s', '0 min', 'unknown')
    """
    if value is None:
        return UNKNOWN
    return f"{60 * value:g} s" if 0 < value < 1 else f"{value:g} min"


def from_minutes(value: float | None) -> str:
    """Write a time span given in minutes, in the unit a person would choose.

    >>> from_minutes(154.7)
    '2.58 h'
    """
    return duration(None if value is None else value / 60)


def ettr(value: float | None) -> str:
    """Write an ETTR; one below 0.001 is no progress worth a number.

    >>> ettr(0.9361), ettr(0.0002)
    ('0.936', 'under 0.001')
    """
    return f"under {NO_PROGRESS:g}" if value is not None and value < NO_PROGRESS else short(value)


def interruptions(expected: float) -> str:
    """Write a number of interruptions to expect.

    >>> interruptions(69.2), interruptions(9.57)
    ('69', '9.6')
    """
    return whole(expected) if expected >= 10 else short(expected, 2)


def moment(at: dt.datetime | None, seconds: bool = False) -> str:
    """Write a UTC timestamp; the page says once that all times are UTC.

    >>> moment(dt.datetime(2026, 11, 21, 7, 33, 24))
    '2026-11-21 07:33'
    """
    return UNKNOWN if at is None else at.strftime("%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M")


def day(at: dt.datetime | dt.date | None) -> str:
    """Write the day of a moment.

    >>> day(dt.datetime(2026, 11, 21, 7, 33, 24))
    '2026-11-21'
    """
    return UNKNOWN if at is None else f"{at:%Y-%m-%d}"


def month(at: dt.datetime | dt.date | None) -> str:
    """Write the month of a moment.

    >>> month(dt.date(2026, 11, 1))
    '2026-11'
    """
    return UNKNOWN if at is None else f"{at:%Y-%m}"


def percent(ratio: float) -> str:
    """Write a share to a hundredth of a percent, as objectives are; negative for an overspent budget.

    >>> percent(0.99912)
    '99.91%'
    """
    return f"{100 * ratio:.2f}%"


def confidence(level: float | None) -> str:
    """Write a confidence level as a percentage without decimals.

    >>> confidence(0.9)
    '90%'
    """
    return f"{100 * (level or DEFAULT_CONFIDENCE):.0f}%"


def gpus(count: float | None) -> str:
    """Name a job size.

    >>> gpus(1), gpus(512), gpus(0), gpus(None)
    ('1 GPU', '512 GPUs', 'no GPU', 'GPUs unknown')
    """
    if count is None:
        return "GPUs unknown"
    if count == 0:
        return "no GPU"
    return "1 GPU" if count == 1 else f"{whole(count)} GPUs"


def nodes(count: float | None) -> str:
    """Name the nodes of a job.

    >>> nodes(1), nodes(64), nodes(None)
    ('1 node', '64 nodes', 'an unknown number of nodes')
    """
    if count is None:
        return "an unknown number of nodes"
    return "1 node" if count == 1 else f"{whole(count)} nodes"


def printable(text: str | None, limit: int = 80) -> str:
    r"""Show foreign text without letting its control and direction characters act on the page.

    >>> printable("a\x1b[2Jb\u202ec"), printable("x" * 90)[-1], printable(None)
    ('a\\x1b[2Jb\\u202ec', '…', 'unknown')
    """
    if text is None:
        return UNKNOWN
    shown = text[: limit + 1]
    if not shown.isprintable():
        shown = "".join(char if char.isprintable() else repr(char)[1:-1] for char in shown)
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def words(text: str | None) -> str:
    """Write a name of code as words.

    >>> words("evidence_on_attempt_node")
    'evidence on attempt node'
    """
    return printable(text).replace("_", " ")
