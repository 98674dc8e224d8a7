"""Read times of accounting in the form that `[accounting] time_format` states.

ISO 8601 and seconds since 1970 are sacct's own forms. A file without any time in these or in the stated format is
refused, with the line to paste into `cluster.toml`. Batches with only sacct's own forms stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import duckdb

from assets.sources.errors import SourceError, SourceErrors
from assets.sources.sacct.columns import TEXTS
from assets.sources.sacct.distinct_values import MOMENTS
from assets.sources.settings import ClusterSettings
from assets.sql import literal

READ_TEXTS = "sacct_read_texts"
"""View of the records with their times in sacct's own form, if a file has others."""
_OWN_BEGINNING = re.compile(r"\d{4}-")
_OWN = r"^(?:\d{4}-\d\d-\d\d|\d{9,11}$)"
_DATE = r"\d.*\d.*\d.*:|[:\d].*\d{2,4}[^\d:]+\d"
"""Matches texts that may be times: they have the digits of a date and a time of day."""
_FORM = re.compile(
    r"(?P<clock>\d{1,2}:\d\d(?P<seconds>:\d\d)?)|(?P<half>\b[AaPp]\.?[Mm]\b\.?)|(?P<year>\d{4})|(?P<number>\d{1,2})"
    r"|(?P<month>(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*)|(?P<day>(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*)"
)


def are_only_own(beginnings: Iterable[str]) -> bool:
    """Return whether all times of a batch are in sacct's own forms, from the first five characters of longer times."""
    return all(_OWN_BEGINNING.fullmatch(beginning) for beginning in beginnings)


def read_times(con: duckdb.DuckDBPyConnection, cluster: ClusterSettings) -> None:
    """Make the view `READ_TEXTS`, which converts times in the cluster's format to sacct's own form.

    Raises
    ------
    SourceErrors
        A file has no time in sacct's own form or in the format.
    """
    time_format = cluster.settings.accounting.time_format
    moments = {name: _moment(TEXTS[name], time_format) for name in MOMENTS}
    texts = " union all ".join(
        f"select file_id, {TEXTS[name]} as text, {moment} is not null as is_read from sacct_texts"
        for name, moment in moments.items()
    )
    unread = con.execute(
        f"""
        select batch_files.path, min(text) filter (regexp_matches(text, {literal(_DATE)})) as printed
        from ({texts}) as printed inner join batch_files using (file_id)
        where length(text) between 11 and 64
        group by batch_files.path
        having printed is not null
            and not bool_or(is_read or regexp_matches(text, {literal(_OWN)}))
        order by path
        """
    ).fetchall()
    if unread:
        raise SourceErrors([_unreadable(cluster, path, text) for path, text in unread])
    read = ", ".join(
        f"coalesce(strftime({moment}, '%Y-%m-%dT%H:%M:%S'), {TEXTS[name]}) as {TEXTS[name]}"
        for name, moment in moments.items()
    )
    con.execute(f"create or replace temp view {READ_TEXTS} as select * replace ({read}) from sacct_texts")


def _moment(text: str, time_format: str | None) -> str:
    if time_format is None:
        return "null::timestamp"
    return (
        f"case when not regexp_matches({text}, {literal(_OWN)}) then try_strptime({text}, {literal(time_format)}) end"
    )


def _unreadable(cluster: ClusterSettings, path: str, text: str) -> SourceError:
    return SourceError(
        path,
        f"unknown_times: times such as {text[:60]} are neither ISO 8601 nor seconds since 1970",
        f'Put [accounting] and below it time_format = "{format_of(text)}" into {cluster.cluster_id}/cluster.toml, with'
        " %d and %m the other way round if the month comes first, or export with SLURM_TIME_FORMAT=%s.",
    )


def format_of(text: str) -> str:
    """Return the likely strptime format of a time, with the day before the month if both are numbers.

    >>> format_of("31/12/2025 10:00:00"), format_of("Wed Dec 31 10:00 2025"), format_of("2025/12/31 01:00:00 PM")
    ('%d/%m/%Y %H:%M:%S', '%a %b %d %H:%M %Y', '%Y/%m/%d %I:%M:%S %p')
    """
    kinds = [found.lastgroup for found in _FORM.finditer(text)]
    numbers = ["%m", "%d"] if kinds[:1] == ["year"] else ["%d"] if "month" in kinds else ["%d", "%m"]
    if "year" not in kinds:
        numbers.append("%y")
    left = iter(numbers)

    def directive(found: re.Match[str]) -> str:
        if found["clock"]:
            return ("%I" if "half" in kinds else "%H") + (":%M:%S" if found["seconds"] else ":%M")
        named = {"half": "%p", "year": "%Y", "month": "%b", "day": "%a"}
        return named.get(found.lastgroup or "", "") or next(left, "%d")

    return _FORM.sub(directive, text.replace("%", "%%").strip())
