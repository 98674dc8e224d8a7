"""Times as a locale prints them. All dates of a file together tell which number is the day.

Each distinct date of a file is read once in Python; SQL reads the times of day. Day, month and year may stand in
several orders. The order counts that makes dates of most values. If several orders do, the one counts that agrees with
ElapsedRaw, else the one of `[accounting] time_format`. A file with more than one possible order is refused. Batches
with times in sacct's own forms alone are left as they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

import duckdb

from assets.sources.errors import SourceError, SourceErrors
from assets.sources.sacct.columns import TEXTS
from assets.sources.sacct.distinct_values import MOMENTS
from assets.sources.settings import ClusterSettings
from assets.sources.temp_tables import TempTable
from assets.sql import literal

TEXTS_WITH_DATES = "sacct_dated_texts"
"""The records with their times in sacct's own form, where a file has others."""
DATES = TempTable("sacct_dates", {"file_id": "integer", "printed": "varchar", "day": "date", "half": "varchar"})
MAX_DATES = 100_000
"""Distinct dates of a batch that are looked at; no export has so many."""
_OWN_PREFIX = re.compile(r"(?:19|2[01])\d\d[-/]")
_OWN = r"^(?:(?:19|2[01])\d\d-\d\d-\d\d|\d{9,11}$)"
_CLOCK = (
    r"\d{1,2}[:\x{6642}\x{65F6}\x{C2DC}] ?\d{1,2}(?:[:\x{5206}\x{BD84}] ?(?:\d{1,2}[\x{79D2}\x{CD08}]?)?)?"
    r"|(?:^|[ T])\d{1,2}\.\d\d(?:\.\d\d)?$"
)
"""A time of day: with colons, with the characters of East Asia, or with dots at the end."""

_ORDERS = (("dmy", "mdy", "ymd"), ("ydm",))
"""Orders that are in use, and one that is only taken where none of these makes dates."""
_MONTHS = {
    1: "jan ene gen led sty tam oca янв", 2: "feb fev uno lut hel sub фев", 3: "mar mrt maa maer bre мар",
    4: "apr abr avr kwi dub huh nis апр", 5: "may mai maj mag mei kve tou май мая",
    6: "jun giu juin cze cer kes haz июн", 7: "jul lug juil lip cec cervenec hei tem июл",
    8: "aug ago aou sie srp elo авг", 9: "sep set wrz zar syy eyl szep сен",
    10: "oct okt ott out paz rij lok eki окт", 11: "nov lis marr kas ноя", 12: "dec dez dic gru pro jou des ara дек",
}  # fmt: skip
"""How names of months begin, in the languages of the usual locales; of several beginnings the longest holds."""
_HALVES = {
    **dict.fromkeys(("am", "a.m", "午前", "上午", "오전"), "am"),
    **dict.fromkeys(("pm", "p.m", "午後", "下午", "오후"), "pm"),
}
_WORD = re.compile(r"[^\W\d_](?:[^\W\d_]|\.(?=[^\W\d_]))*")
_ELAPSED_TOLERANCE = 3700
"""Seconds: an hour for a change of the clocks."""
_ELAPSED_SAMPLE = 10_000
_DATE_DIRECTIVES = {**dict.fromkeys("d", "d"), **dict.fromkeys("mbBh", "m"), **dict.fromkeys("yYG", "y"), "c": "mdy"}


def _folded(text: str) -> str:
    """Return a text in lower case without accents."""
    apart = unicodedata.normalize("NFKD", text.lower())
    return "".join(letter for letter in apart if not unicodedata.combining(letter))


_BEGINNINGS = {_folded(word): number for number, words in _MONTHS.items() for word in words.split()}


@cache
def month_of(word: str) -> int | None:
    """Return the month that a word names.

    >>> month_of("März"), month_of("juil."), month_of("Oktober"), month_of("maaliskuuta"), month_of("Unknown")
    (3, 7, 10, 3, None)
    """
    folded = _folded(word)
    found = [beginning for beginning in _BEGINNINGS if folded.startswith(beginning)]
    return _BEGINNINGS[max(found, key=len)] if found else None


@dataclass(frozen=True)
class _Printed:
    """A date as it stands in a file: its numbers, its month where that is a word, and the half of the day."""

    numbers: tuple[str, ...]
    month: int | None
    half: str | None

    @property
    def has_date(self) -> bool:
        """Whether it has as many parts as a date with its year, or as many digits as that and a time of day."""
        return len(self.numbers) + (self.month is not None) >= 3 or sum(map(len, self.numbers)) >= 12

    @property
    def shape(self) -> tuple[object, ...]:
        """What all dates of one form have in common."""
        return len(self.numbers), self.month is not None, tuple(len(number) == 4 for number in self.numbers)

    def read(self, order: str) -> date | None:
        """Read the numbers in an order of d, m and y; None where they make no date."""
        if len(order) != len(self.numbers) or ("m" in order) == (self.month is not None):
            return None
        found = dict(zip(order, self.numbers, strict=True))
        if len(found["y"]) not in {2, 4} or any(len(found[name]) > 2 for name in order if name != "y"):
            return None
        year = int(found["y"]) + (2000 if len(found["y"]) == 2 else 0)
        try:
            return date(year, self.month or int(found["m"]), int(found["d"])) if 2000 <= year < 2100 else None
        except ValueError:
            return None


def _parsed(text: str) -> _Printed:
    words = [word.lower() for word in _WORD.findall(unicodedata.normalize("NFC", text))]
    halves = [_HALVES[word] for word in words if word in _HALVES]
    # The name of a weekday may begin as that of a month does, and comes before it.
    months = [month for word in words if word not in _HALVES and (month := month_of(word))]
    return _Printed(tuple(re.findall(r"\d+", text)), months[-1] if months else None, halves[-1] if halves else None)


def order_of(time_format: str) -> str:
    """Return in which order a format of strptime has day, month and year.

    >>> order_of("%d/%m/%Y %H:%M:%S"), order_of("%a %b %d %H:%M:%S %Y")
    ('dmy', 'mdy')
    """
    directives = re.findall(r"%-?(\w)", time_format)
    return "".join(_DATE_DIRECTIVES.get(directive, "") for directive in directives)


def are_only_own(prefixes: Iterable[str]) -> bool:
    """Tell from how a batch's longer times begin, by five characters, whether all are of sacct's own forms."""
    return all(_OWN_PREFIX.fullmatch(prefix) for prefix in prefixes)


def read_dates(con: duckdb.DuckDBPyConnection, cluster: ClusterSettings) -> None:
    """Fill `sacct_dates` with the dates of the batch's records that are in no form of sacct's own, and make the view.

    Raises
    ------
    SourceErrors
        The dates of a file can be read in several ways, or in none.
    """
    time_format = cluster.settings.accounting.time_format
    errors = []
    for file_id, (path, texts, has_own) in _printed_dates(con).items():
        printed = {text: _parsed(text) for text in texts}
        by_shape: defaultdict[tuple[object, ...], list[str]] = defaultdict(list)
        for text, one in printed.items():
            by_shape[one.shape].append(text)
        read: list[dict[str, object]] = []
        ambiguous: dict[str, list[str]] = {}
        for members in by_shape.values():
            orders = _orders_of(con, file_id, {text: printed[text] for text in members}, time_format)
            if len(orders) > 1 and 100 * len(members) > len(texts):
                ambiguous[members[0]] = orders
            elif len(orders) == 1:
                days = ((text, printed[text].read(orders[0])) for text in members)
                read += [
                    {"file_id": file_id, "printed": text, "day": day, "half": printed[text].half}
                    for text, day in days
                    if day is not None
                ]
        # Of a file with times in sacct's own form a few others are damaged records.
        if ambiguous and not has_own:
            errors += [_ambiguous(cluster, path, *next(iter(ambiguous.items())))]
        elif not (read or has_own or time_format) and any(one.has_date for one in printed.values()):
            errors.append(_unreadable(cluster, path, texts[0]))
        DATES.add(con, read)
    if errors:
        raise SourceErrors(errors)
    _view(con, time_format)


def _orders_of(
    con: duckdb.DuckDBPyConnection, file_id: int, printed: Mapping[str, _Printed], time_format: str | None
) -> list[str]:
    """Return the orders in which dates of one shape can be read, of a file: one, if anything tells."""
    orders = _best_orders([*printed.values()])
    if len(orders) > 1:
        orders = _agreeing_with_elapsed(con, file_id, orders, printed)
    if len(orders) > 1 and time_format:
        wanted = order_of(time_format)
        orders = [order for order in orders if order in {wanted, wanted.replace("m", "")}] or orders
    return orders


def _printed_dates(con: duckdb.DuckDBPyConnection) -> dict[int, tuple[str, list[str], bool]]:
    """Return by file its path, its distinct dates that are none of sacct's own, and whether it has times that are."""
    texts = " union all ".join(f"select file_id, {TEXTS[name]} as text from sacct_texts" for name in MOMENTS)
    found = con.execute(
        f"""
        with judged as (
            select file_id, text, not regexp_matches(text, {literal(_OWN)}) as is_odd
            from ({texts}) where text is not null
        ),
        dates as (
            select distinct file_id, {_date_of("text")} as printed from judged
            where is_odd and length(text) between 11 and 64 and regexp_matches(text, '\\d')
            order by all limit {MAX_DATES}
        ),
        owned as (select file_id, bool_or(not is_odd) as has_own from judged group by file_id)
        select dates.file_id, batch_files.path, list(printed order by printed), any_value(has_own)
        from dates
        inner join batch_files on batch_files.file_id = dates.file_id
        inner join owned on owned.file_id = dates.file_id
        group by dates.file_id, batch_files.path
        """
    ).fetchall()
    return {file_id: (path, printed, has_own) for file_id, path, printed, has_own in found}


def _date_of(text: str) -> str:
    return f"regexp_replace({text}, {literal(_CLOCK)}, '~')"


def _best_orders(printed: Sequence[_Printed]) -> list[str]:
    """Return the orders that make dates of most values; with a word for the month, those of day and year."""
    for orders in _ORDERS:
        names = dict.fromkeys(order.replace("m", "") if printed[0].month else order for order in orders)
        counts = {order: sum(one.read(order) is not None for one in printed) for order in names}
        if most := max(counts.values()):
            return [order for order in counts if counts[order] == most]
    return []


def _agreeing_with_elapsed(
    con: duckdb.DuckDBPyConnection, file_id: int, orders: list[str], printed: Mapping[str, _Printed]
) -> list[str]:
    """Return those of several orders in which records that go past midnight last as long as they say."""
    start, end, elapsed = TEXTS["Start"], TEXTS["End"], TEXTS["ElapsedRaw"]
    sample = con.execute(
        f"""
        select
            {_date_of(start)} as start_date, {_date_of(end)} as end_date,
            {_seconds_of_day(end)} - {_seconds_of_day(start)} as seconds,
            try_cast({elapsed} as bigint) as elapsed
        from sacct_texts
        where file_id = $file_id and start_date <> end_date and elapsed > 0
            and coalesce({TEXTS["Suspended"]}, '0') in ('0', '00:00:00')
        limit {_ELAPSED_SAMPLE}
        """,
        {"file_id": file_id},
    ).fetchall()

    def contradictions(order: str) -> int:
        count = 0
        for start_date, end_date, seconds, elapsed_seconds in sample:
            first, last = (printed[text].read(order) if text in printed else None for text in (start_date, end_date))
            if first is not None and last is not None and seconds is not None:
                lasted = (last - first) // timedelta(seconds=1) + seconds
                # Without the half of the day a time may be twelve hours off.
                slack = _ELAPSED_TOLERANCE + (43_200 if printed[start_date].half else 0)
                count += abs(lasted - elapsed_seconds) > slack
        return count

    found = {order: contradictions(order) for order in orders}
    fewest = min(found.values())
    # A few records contradict themselves; a wrong order makes nearly all do so.
    is_clear = max(found.values()) > 2 * fewest + 1
    return [order for order in orders if found[order] == fewest] if is_clear else orders


def _seconds_of_day(text: str, half: str = "null") -> str:
    """Return SQL for the seconds since midnight of the time of day in a text; NULL where it has none."""
    numbers = f"regexp_extract_all(regexp_extract({text}, {literal(_CLOCK)}), '[0-9]+')"
    hour = f"try_cast({numbers}[1] as integer)"
    minute = f"try_cast({numbers}[2] as integer)"
    second = f"try_cast({numbers}[3] as integer)"
    return f"""case when {hour} < 24 and {minute} < 60 and coalesce({second}, 0) <= 60 then
        3600 * case {half} when 'am' then {hour} % 12 when 'pm' then {hour} % 12 + 12 else {hour} end
        + 60 * {minute} + coalesce({second}, 0) end"""


def _view(con: duckdb.DuckDBPyConnection, time_format: str | None) -> None:
    """Make the view of the records in which the times that were found are written as sacct writes them."""
    is_usable = time_format is not None and _is_known_to_duckdb(con, time_format)

    def rewritten(name: str) -> str:
        text = TEXTS[name]
        found = [f"{name}_date.day + to_seconds({_seconds_of_day(f'texts.{text}', f'{name}_date.half')})"]
        if is_usable:
            is_own = f"regexp_matches(texts.{text}, {literal(_OWN)})"
            found.append(f"case when not {is_own} then try_strptime(texts.{text}, {literal(time_format or '')}) end")
        moment = f"coalesce({', '.join(found)})"
        return f"coalesce(strftime({moment}, '%Y-%m-%dT%H:%M:%S'), texts.{text}) as {text}"

    joined = "\n".join(
        f"left join sacct_dates as {name}_date on {name}_date.file_id = texts.file_id "
        f"and {name}_date.printed = {_date_of(f'texts.{TEXTS[name]}')}"
        for name in MOMENTS
    )
    con.execute(
        f"""
        create or replace temp view {TEXTS_WITH_DATES} as
        select texts.* replace ({", ".join(rewritten(name) for name in MOMENTS)}) from sacct_texts as texts {joined}
        """
    )


def _is_known_to_duckdb(con: duckdb.DuckDBPyConnection, time_format: str) -> bool:
    try:
        con.execute(f"select try_strptime('', {literal(time_format)})")
    except duckdb.Error:
        return False
    return True


def _ambiguous(cluster: ClusterSettings, path: str, text: str, orders: Sequence[str]) -> SourceError:
    lines = " or ".join(f'time_format = "{_format_of(text, order)}"' for order in orders)
    return SourceError(
        path,
        f"ambiguous_times: dates such as {text.replace('~', '').strip()} can be read in {len(orders)} ways, and "
        "nothing in the file tells which",
        f"Put [accounting] and below it {lines} into {cluster.cluster_id}/cluster.toml, or export with "
        "SLURM_TIME_FORMAT=%s.",
    )


def _unreadable(cluster: ClusterSettings, path: str, text: str) -> SourceError:
    return SourceError(
        path,
        f"unknown_times: no date such as {text.replace('~', '').strip()[:60]} can be read",
        f'Put [accounting] and below it time_format = "%d/%m/%Y %H:%M:%S", with the format of these times as strptime '
        f"takes it, into {cluster.cluster_id}/cluster.toml, or export with SLURM_TIME_FORMAT=%s.",
    )


def _format_of(text: str, order: str) -> str:
    """Return the format of strptime with which a date is read in an order; `~` stands for the time of day.

    >>> _format_of("03/04/2026 ~", "dmy"), _format_of("03 mar 04, ~ PM", "yd")
    ('%d/%m/%Y %H:%M:%S', '%y %b %d, %I:%M:%S %p')
    """
    names, has_half = iter(order), _parsed(text).half is not None

    def directive(found: re.Match[str]) -> str:
        part = found[0]
        if part == "~":
            return "%I:%M:%S" if has_half else "%H:%M:%S"
        if part.isdigit():
            name = next(names, "d")
            return "%Y" if name == "y" and len(part) == 4 else f"%{name}"
        return "%p" if part.lower() in _HALVES else "%b" if month_of(part) else "%a"

    return re.sub(rf"~|\d+|{_WORD.pattern}", directive, text.replace("%", "%%"))
