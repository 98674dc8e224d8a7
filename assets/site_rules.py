"""Signals that no rule knows, and the lines of `cluster.toml` for them, for the doctor, the report and the docs.

Names and reasons come from logs, so every text is quoted: TOML reads it as nothing but a text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

KINDS = {
    "check": "health check",
    "node_reason": "node reason",
    "repair_action": "repair action",
    "failure_record": "cause of recorded failures",
    "xid": "Xid",
    "kernel": "error line",
}
"""What `marts.agg_unmapped_signals.kind` means, as a noun."""

MAX_SIGNAL_CHARACTERS = 300
"""A reason or a line of this length may have been cut off."""

ACTION_LINE = 'action = "unknown"  # replace it: reboot, reset, reseat, exchange or none'
CATEGORY_LINE = 'category = "config"  # replace it: docs/configuration.md lists the categories; "config" causes nothing'

ORDER = "coalesce(ratio_low <= 1, true), kind = 'kernel', event_count desc, kind, signal"
"""Signals that are clearly more frequent before failed ends than before others come first. Error lines come last: most
of them concern no job."""

LISTED = f"""
    select
        cluster_id, kind, signal, event_count, node_count, first_seen_at, last_seen_at, example_path,
        example_line_number,
        failed_end_ratio, completed_end_ratio, ratio, ratio_low, ratio_high
    from marts.agg_unmapped_signals
    order by cluster_id, {ORDER}
"""


@dataclass(frozen=True)
class Signal:
    """A signal of one cluster that no rule knows."""

    kind: str
    signal: str
    event_count: int
    node_count: int
    first_seen_at: datetime
    last_seen_at: datetime
    example_path: str
    example_line_number: int
    failed_end_ratio: float | None = None
    completed_end_ratio: float | None = None
    ratio: float | None = None
    ratio_low: float | None = None
    ratio_high: float | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Signal:
        """Return the signal in a row of `LISTED`."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})

    @property
    def days(self) -> str:
        """The first and the last day on which it was seen."""
        first, last = f"{self.first_seen_at:%Y-%m-%d}", f"{self.last_seen_at:%Y-%m-%d}"
        return first if first == last else f"{first} to {last}"

    @property
    def place(self) -> str:
        """The file and line of the first event."""
        return f"{self.example_path}:{self.example_line_number}"

    @property
    def before_ends(self) -> str:
        """How often it precedes the ends of failed and of completed attempts; empty if there are none."""
        if self.failed_end_ratio is None or self.completed_end_ratio is None:
            return ""
        shares = f"seen before the end of {_percent(self.failed_end_ratio)} of failed and of "
        shares += f"{_percent(self.completed_end_ratio)} of completed attempts"
        if self.ratio is None or self.ratio_low is None or self.ratio_high is None:
            return shares + (f": at least {_times(self.ratio_low)} times as often" if self.ratio_low else "")
        limits = f"90% interval {_times(self.ratio_low)} to {_times(self.ratio_high)}"
        return f"{shares}: {_times(self.ratio)} times as often ({limits})"


def counted(signals: Iterable[Signal]) -> str:
    """Return how many signals of each kind there are: `2 health checks, 1 Xid`."""
    counts = Counter(signal.kind for signal in signals)
    return counted_by_kind(counts)


def counted_by_kind(counts: Mapping[str, int]) -> str:
    """Return counts by the kind's name in the table as text.

    >>> counted_by_kind({"xid": 1, "check": 2})
    '2 health checks, 1 Xid'
    """
    found = ((noun, counts.get(kind, 0)) for kind, noun in KINDS.items())
    return ", ".join(f"{count:,} {_many(noun) if count != 1 else noun}" for noun, count in found if count)


def _many(noun: str) -> str:
    """Return the plural of a noun with its complement.

    >>> _many("cause of recorded failures"), _many("error line")
    ('causes of recorded failures', 'error lines')
    """
    first, of, complement = noun.partition(" of ")
    return f"{first}s{of}{complement}"


def lines_of(signal: Signal) -> list[str]:
    """Return lines to paste, which are valid TOML: where it was seen, as a comment, and a rule without effect."""
    noun = {"kernel": "line", "repair_action": "ticket"}.get(signal.kind, "event")
    events = noun if signal.event_count == 1 else f"{noun}s"
    nodes = "node" if signal.node_count == 1 else "nodes"
    seen = f"{signal.event_count} {events} on {signal.node_count} {nodes}, {signal.days}, first in {signal.place}"
    seen = "; ".join(filter(None, (seen, signal.before_ends)))
    section, key = {
        "check": ("[[health.checks]]", f"name = {toml_text(signal.signal)}"),
        "kernel": ("[[kernel.rules]]", f"pattern = {toml_text(pattern_of_line(signal.signal))}"),
        "node_reason": ("[[node_reasons]]", f"pattern = {toml_text(pattern_of(signal.signal))}"),
        "repair_action": ("[[repair_actions]]", f"pattern = {toml_text(pattern_of(signal.signal))}"),
        "failure_record": ("[[node_reasons]]", f"pattern = {toml_text(pattern_of(signal.signal))}"),
        "xid": ("[[xids]]", f"code = {signal.signal}"),
    }[signal.kind]
    meaning = ACTION_LINE if signal.kind == "repair_action" else CATEGORY_LINE
    return [f"# {_on_one_line(seen)}", section, key, meaning]


def pattern_of(reason: str) -> str:
    r"""Return a pattern that fits all reasons that differ from this one only in numbers and blanks.

    >>> pattern_of("job # left node[#] (see wiki)")
    '^job\\s+.*\\s+left\\s+node\\[.*\\]\\s+\\(see\\s+wiki\\)$'
    """
    literal = re.sub(r"[\\.+*?()|\[\]{}^$]", r"\\\g<0>", reason)
    pattern = literal.replace("#", ".*").replace(" ", r"\s+")
    return f"^{pattern}" if len(reason) >= MAX_SIGNAL_CHARACTERS else f"^{pattern}$"


def pattern_of_line(shape: str) -> str:
    r"""Return a pattern that fits all lines of a shape; masked secrets match anything.

    In a cluster with pseudonyms a shape ends with a hash, and has an x where a word was cut out.

    >>> pattern_of_line("acme #: fence '#' lost")
    "^acme\\s+.*:\\s+fence\\s+'.*'\\s+lost$"
    >>> pattern_of_line("x #: x lost #0a1b2c3d4e5f")
    '^.*\\s+.*:\\s+.*\\s+lost$'
    """
    hashed = re.fullmatch(r"(.*) #[0-9a-f]{12}", shape)
    if not hashed:
        return pattern_of(shape).replace(r"\*\*\*", ".*")
    pattern = pattern_of(hashed[1].replace("x", "#"))
    return pattern.removesuffix("$") if len(hashed[1]) >= MAX_SIGNAL_CHARACTERS else pattern


def toml_text(text: str) -> str:
    r"""Return a text quoted for TOML: as a literal if nothing in it is special, else with escapes.

    >>> print(toml_text(r"node\[.*\]"), toml_text("it's\n\"é\""))
    'node\[.*\]' "it's\n\"\u00e9\""
    """
    if text.isascii() and text.isprintable() and "'" not in text:
        return f"'{text}'"
    return f'"{"".join(map(_escaped, text))}"'


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _times(ratio: float) -> str:
    """Return a ratio with two significant digits, or with all digits before the decimal point.

    >>> _times(0.123), _times(270.4)
    ('0.12', '270')
    """
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.2g}"


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isascii() and character.isprintable():
        return character
    short = {"\n": r"\n", "\t": r"\t", "\r": r"\r"}.get(character)
    return short or (f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}")


def _on_one_line(text: str) -> str:
    """Replace characters that a comment of TOML must not hold, and those that control a terminal."""
    return "".join(character if character.isprintable() else "?" for character in text)
