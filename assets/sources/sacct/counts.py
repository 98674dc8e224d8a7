"""The SQL of the counts that sacct prints."""

from __future__ import annotations

from assets.sources.text.nodelists import MAXIMUM_HOSTS


def count_of(text: str) -> str:
    """Return SQL for a count that may be printed as 1.50K (of 1024); what counts less than nothing is NULL."""
    return f"""try_cast(coalesce(try_cast({text} as uinteger), case
        when ends_with({text}, 'K') then try_cast(round(try_cast(rtrim({text}, 'K') as double) * 1024) as uinteger)
        when ends_with({text}, 'M') then try_cast(round(try_cast(rtrim({text}, 'M') as double) * 1048576) as uinteger)
    end) as integer)"""


def node_count_of(text: str) -> str:
    """Return SQL for a number of nodes, NULL where no machine has so many."""
    return f"case when {count_of(text)} <= {MAXIMUM_HOSTS} then {count_of(text)} end"
