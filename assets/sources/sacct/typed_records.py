"""The query that turns the texts of accounting records into typed rows, with the reason to quarantine a bad one."""

from __future__ import annotations

from collections.abc import Collection

from assets.sources.sacct.columns import COLUMNS, PLAIN_COLUMNS, TEXTS
from assets.sources.sacct.distinct_values import LOOKUPS, MOMENTS, exclusion_text
from assets.sources.sacct.values import LARGEST_ID, MAX_SECONDS
from assets.sources.text import times
from assets.sources.text.masking import masked
from assets.sources.text.nodelists import MAXIMUM_HOSTS, SPARE_FACTOR, SPARE_NAMES
from assets.sql import fill


def type_records(zone: str, years: times.Years, filled: Collection[str], texts: str = "sacct_texts") -> str:
    """Return the query that turns texts and the lookups of distinct values into typed records.

    Parameters
    ----------
    zone
        IANA zone of times without offset.
    years
        A range of years that includes the local times.
    filled
        The lists of `sacct_values` that are not empty.
    texts
        The records, in the columns of `sacct_texts`.
    """
    return fill(
        "sources/sacct/typed_records.sql",
        texts=texts,
        free_texts=tuple((TEXTS[c.field], masked(TEXTS[c.field])) for c in COLUMNS if c.is_free_text),
        exclusions=exclusion_text(),
        moments=tuple((n.lower(), TEXTS[n], times.is_dated(TEXTS[n]), times.has_offset(TEXTS[n])) for n in MOMENTS),
        local=tuple(_local_time(n.lower(), zone, years) for n in MOMENTS),
        may_be_doubled=bool(times.changes_within(zone, years)),
        empty=tuple(name for name in LOOKUPS if name not in filled),
        zone=zone,
        earliest=times.literal(times.EARLIEST),
        plain_columns=PLAIN_COLUMNS,
        largest_id=LARGEST_ID,
        max_seconds=MAX_SECONDS,
        max_hosts=MAXIMUM_HOSTS,
        spare_names=SPARE_NAMES,
        spare_factor=SPARE_FACTOR,
    )


def _local_time(name: str, zone: str, years: times.Years) -> tuple[str, str, str, str, str]:
    """Return SQL for a moment's local time: its name, both passes in UTC, and whether it occurred twice or never."""
    local = f"{name}_local"
    return (
        name,
        times.utc(local, zone, years=years),
        times.utc(local, zone, second_of_fold=True, years=years),
        times.is_ambiguous(local, zone, years=years),
        times.is_nonexistent(local, zone, years=years),
    )
