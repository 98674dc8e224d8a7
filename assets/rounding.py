"""Numbers in sentences."""

from __future__ import annotations


def rounded(value: float, digits: int = 3) -> str:
    """Format a number with this many significant digits and without an exponent.

    >>> rounded(24417.0), rounded(0.0734), rounded(986.4, 2)
    ('24,400', '0.0734', '990')
    """
    return f"{float(f'{value:.{digits}g}'):,.12g}"
