"""The component that a ticket means, as SQL: patterns of the site, then the names and patterns known here.

The site's patterns are checked when its settings are read (`assets/sources/text/patterns.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from assets.sql import literal

COMPONENTS: tuple[tuple[str, str], ...] = (
    ("EUD", r"\beud\b"),
    ("Optics", r"optic|transceiver|\baoc\b|\bdac\b|\bq?sfp|cable|fib(?:er|re)"),
    ("GPU", r"gpu|\b(?:h100|h200|a100|b200|v100|gb200)\b|\bhgx\b|\bsxm\d?\b|nvlink|nvswitch|\bhbm"),
    ("NIC", r"\bnics?\b|\bhca\b|mlx\d|connectx|infiniband|\bib\b|ethernet|network card"),
    ("PSU", r"\bpsu\b|power supply"),
    ("DIMM", r"\bdimms?\b|\bram\b|memory"),
    ("BIOS", r"\bbios\b|\buefi\b|firmware"),
    ("CPU", r"\bcpus?\b|processor"),
    ("PCIe", r"\bpci(?:e|-?express)?\b|riser"),
)
"""Pattern by component, first match wins; `[tickets.components]` of cluster.toml comes first."""


def component_of(text: str, configured: Mapping[str, str]) -> str:
    """Return SQL for the component that a cell means; `other` if no pattern fits, `unknown` for a blank cell.

    Parameters
    ----------
    text
        SQL of the stripped cell, NULL when empty.
    configured
        Components by the site's patterns, which are tried first, in order.
    """
    branches = [
        f"when regexp_matches({text}, {literal(pattern)}, 'i') then {literal(name)}"
        for pattern, name in configured.items()
    ]
    branches += [
        f"when lower({text}) = {literal(name.lower())} or regexp_matches({text}, {literal(pattern)}, 'i') "
        f"then {literal(name)}"
        for name, pattern in COMPONENTS
    ]
    return f"case when {text} is null then 'unknown' {' '.join(branches)} else 'other' end"
