"""Collect the distinct values of accounting records in one pass: one row of lists."""

from __future__ import annotations

from assets.sources.sacct.columns import TEXTS
from assets.sources.sacct.fields import exclusion_text
from assets.sources.sacct.moments import MOMENTS
from assets.sources.temp_tables import TempTable

_TEXTS = {
    "states": ("State", "true"),
    "allocated": ("AllocTRES", "true"),
    "requested": ("ReqTRES", "true"),
    "memory": ("ReqMem", "true"),
    "suspended": ("Suspended", "true"),
    # A plain number makes the duration beside it superfluous.
    "elapsed": ("Elapsed", f"{TEXTS['ElapsedRaw']} is null"),
    "time_limits": ("Timelimit", f"{TEXTS['TimelimitRaw']} is null"),
    "node_lists": ("NodeList", "true"),
    "failed_nodes": ("FailedNode", "true"),
}
"""Lists of distinct texts: of which field, in which records."""
SEEN_IN_FILES = TempTable(
    "sacct_seen_in_files",
    {
        **{name: "varchar[]" for name in _TEXTS},
        "exclusions": "varchar[]",
        "clusters": "struct(file_id integer, name varchar)[]",
        **{f"beginnings_{name}": "varchar[]" for name in MOMENTS},
    },
)


def seen_in(texts: str, *more: str) -> str:
    """Return the query of the one row.

    Beside the lists of texts: exclusions, how local times begin, which is their year and what follows it, and the names
    of clusters in each file, NULL where a record has none.

    Parameters
    ----------
    texts
        Records in the columns of `sacct_texts`.
    more
        Further aggregates.
    """
    lists = {name: (TEXTS[field], condition) for name, (field, condition) in _TEXTS.items()}
    lists["exclusions"] = exclusion_text(), "true"
    lists["clusters"] = f"{{'file_id': file_id, 'name': {TEXTS['Cluster']}}}", "true"
    lists |= {f"beginnings_{name}": (f"left({TEXTS[name]}, 5)", f"length({TEXTS[name]}) >= 12") for name in MOMENTS}
    columns = [
        f"coalesce(list(distinct {text}) filter (left_out is null and {condition} and {text} is not null), [])"
        f" as {name}"
        for name, (text, condition) in lists.items()
    ]
    return f"select {', '.join([*columns, *more])} from {texts}"
