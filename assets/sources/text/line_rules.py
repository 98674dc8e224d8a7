r"""A site's own rules for lines of the kernel and the controller: which lines to examine.

A rule's pattern applies to the message. Lines to examine are found before time, host and tag are split off, so the
anchors of a pattern are removed for that.
"""

from __future__ import annotations

from collections.abc import Sequence


def scanning_pattern(patterns: Sequence[str]) -> str:
    """Return a pattern that fits every line with a message that a pattern fits, and some others; empty for none."""
    anywhere = "|".join(f"(?:{without_anchors(pattern)})" for pattern in patterns)
    return f"(?i){anywhere}" if patterns else ""


def without_anchors(pattern: str) -> str:
    r"""Return a pattern that fits a text if the given pattern fits a part of it.

    >>> without_anchors(r"^acme[^$]*: (lost|stuck)\$ \[.*\]$")
    'acme[^$]*: (lost|stuck)\\$ \\[.*\\]'
    >>> without_anchors(r"\Aa\Q^\E")
    ''
    """
    if r"\Q" in pattern:
        return ""
    kept, is_in_class, place = [], False, 0
    while place < len(pattern):
        part = pattern[place : place + 2] if pattern[place] == "\\" else pattern[place]
        place += len(part)
        if not is_in_class and part in ("^", "$", r"\A", r"\z"):
            continue
        if part == "[" and not is_in_class:
            is_in_class = True
            # A bracket that comes first in a class is part of it.
            first = pattern[place : place + 2]
            part += "^]" if first == "^]" else first[:1] if first[:1] in ("]", "^") else ""
            place += len(part) - 1
        elif part == "]":
            is_in_class = False
        kept.append(part)
    return "".join(kept)
