"""Unchanged results of a check on a node within a day: only the first and the last are kept.

Sites that keep every result of every check have billions of rows that show only that the node was being checked. The
results between the two are dropped only if there was one in every quarter of an hour: then these two and
`unchanged_since` hold all that onsets and coverage need. The macro `unchanged_days` finds them.
"""

from __future__ import annotations

from assets.sources.settings import ClusterSettings
from assets.sql import literal


def counts_each(cluster: ClusterSettings) -> str:
    """Return SQL that is true for the checks of a site whose bad results each count."""
    name = "lower(trim(any_value(check_name)))"
    fits = [
        f"{name} = {literal((exact or '').strip().lower())}"
        if pattern is None
        else f"regexp_matches({name}, {literal(pattern)}, 'i')"
        for exact, pattern in cluster.settings.health.unfolded
    ]
    return " or ".join(fits) or "false"
