r"""SQL for lines that no rule knows: whether a line has the weight of an error, and its shape.

A shape is a text in lower case with `#` for what differs between occurrences: numbers, addresses, paths, quoted texts
and names after a word such as `comm`. Nothing else is replaced, as the words distinguish faults.
"""

from __future__ import annotations

from assets.sql import literal

WORDS = "error|fail|fatal|panic|timeout|lost|corrupt|uncorrect"
"""A line without a priority has the weight of an error if it contains one of these, in any case."""

_LEVELS = "emerg|panic|alert|crit|err|error"
_GRAVE = "|".join(str(number) for number in range(192) if number % 8 <= 3)
"""The lowest three bits of a priority are the severity; 3 is err, 0 is emerg."""
_PRIORITY = (
    # syslog's own, as /dev/kmsg and RFC 5424 have it; `dmesg -x`; /dev/kmsg's records; the journal's JSON; in words
    r"^<(?:{number})>|^[a-z]+ *:(?:{level}) *: |^(?:{number}),\d+,\d+,|^\{{.*\"PRIORITY\"\s*:\s*\"?(?:{digit})\b"
    r"|(?:^|[ <\[])(?:kern|user|daemon|auth|authpriv|syslog|cron|local\d)\.(?:{level})(?:[\]>:]| )"
)
_HAS_PRIORITY = _PRIORITY.format(number=r"\d{1,3}", level="[a-z]+", digit=r"\d")
_IS_GRAVE = _PRIORITY.format(number=_GRAVE, level=_LEVELS, digit="[0-3]")

SCAN = f"(?i:{WORDS})|{_IS_GRAVE}"
"""Matches every line with the weight of an error, and some others."""

MAX_CHARACTERS = 300
"""Largest length of a shape and of its example."""

_NAMES = (
    r'"[^"]*"'
    # no apostrophe, as in `can't`
    r"|(^|\W)'[^']*'"
    r"|(\b(?:comm |comm=|name[=:] ?|user[=:] ?|task[=:] ?|exe[=:] ?))[^\s,;:)]+"
    r"|((?:^|[\s=(:])/)[^\s,;:)\]]+"
    # the program of `python3[4711]: segfault`, of at most 15 characters
    r"|^[^:\[]{1,15}\[\d+\]"
)
_NUMBERS = (
    r"\b[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){2,7}(?:\.[0-9a-f]+)?\b"
    r"|\b(?:0x)?[0-9a-f]*[0-9][0-9a-f]*\b"
    r"|\b[0-9a-f]{16,}\b"
    r"|[0-9]+"
)


def has_weight(line: str, message: str) -> str:
    """Return SQL for whether a line has the weight of an error: by its priority, else by its words."""
    return (
        f"case when regexp_matches({line}, {literal(_HAS_PRIORITY)}) then regexp_matches({line}, {literal(_IS_GRAVE)}) "
        f"else regexp_matches({message}, {literal(f'(?i){WORDS}')}) end"
    )


def shape(text: str) -> str:
    """Return SQL for the shape of a text."""
    named = rf"regexp_replace(lower(trim({text})), {literal(_NAMES)}, '\1\2\3#', 'g')"
    numbered = f"regexp_replace({named}, {literal(_NUMBERS)}, '#', 'g')"
    # Characters between two numbers of an address, a date or a version
    joined = f"regexp_replace({numbered}, '#(?:[-.,:/+_]*#)+', '#', 'g')"
    return rf"left(regexp_replace({joined}, '\s+', ' ', 'g'), {MAX_CHARACTERS})"
