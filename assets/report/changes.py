"""Changes since an earlier report: numbers outside their earlier interval, and changes of the lemon list.

Numbers from different versions of a method are never compared; the row says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb

from assets.report.numbers import duration, gpus, printable, short
from assets.report.queries import Row, grouped, texts
from assets.report.wording import POPULATIONS
from assets.rows import rows_of

Kind = Literal["moved", "lemon", "new", "gone", "not compared"]

FOLLOWED = {
    "est_failure_rates": "Failure rate",
    "est_mttf_by_size": "MTTF",
    "est_ettr_by_size": "Measured ETTR, waiting counted",
    "est_cause_rates": "Failures by cause",
    "est_lemon_nodes": "Lemon list",
}
"""Tables whose numbers are compared, and the names of these."""


@dataclass(frozen=True)
class Change:
    """One change since the earlier report."""

    cluster_id: str
    """Empty if the change concerns all clusters."""
    kind: Kind
    """`moved`: the new value is outside the old interval. `lemon`: a node was added to the list or removed. `new` and
    `gone`: a cluster. `not compared`: another version of the method, or of the file."""
    what: str
    """The number, in words."""
    in_words: str
    """The whole row in words."""


def changes_since(before: Path, numbers: list[Row]) -> list[Change]:
    """Compare an earlier warehouse with new numbers; return a row that says so if the warehouse cannot be read."""
    try:
        with duckdb.connect(str(before), read_only=True) as con:
            earlier = read_numbers(con)
    except duckdb.Error:
        said = "The earlier report is of a version whose numbers cannot be read: nothing is compared"
        return [Change("", "not compared", "All numbers", said)]
    return compare(earlier, numbers)


def read_numbers(con: duckdb.DuckDBPyConnection) -> list[Row]:
    """Read the numbers that are compared."""
    return rows_of(con, texts()["numbers"])


def compare(earlier: list[Row], later: list[Row]) -> list[Change]:
    """List the changes of each cluster: what is not compared, then lemons, then numbers.

    A number moved if its new value is outside its old interval; without an interval or a value it did not move.
    """
    old, new = grouped(earlier, "cluster_id"), grouped(later, "cluster_id")
    came, went = ([name for name in one if name not in other] for one, other in ((new, old), (old, new)))
    found = [Change(name, "new", "Cluster", "new in the report") for name in came]
    found += [Change(name, "gone", "Cluster", "no longer in the report") for name in went]
    for name in (name for name in new if name in old):
        methods, methods_now = ({row["table_name"]: row["method_version"] for row in side[name]} for side in (old, new))
        changed = [table for table, method in methods_now.items() if methods.get(table, method) != method]
        for table in changed:
            what, versions = FOLLOWED[table], f"{methods[table]} before, {methods_now[table]} now"
            said = f"{what}: the method has changed ({versions}): not compared"
            found.append(Change(name, "not compared", what, said))
        before = {row["number_key"]: row for row in old[name]}
        pairs = [(before.get(row["number_key"]), row) for row in new[name] if row["table_name"] not in changed]
        found += [change for was, row in pairs if (change := _lemon_change(was, row)) is not None]
        found += [_moved(was, row) for was, row in pairs if was is not None and _has_moved(was, row)]
    return found


def _lemon_change(was: Row | None, row: Row) -> Change | None:
    if row["table_name"] != "est_lemon_nodes":
        return None
    before, after = was["number_value"] if was else 0.0, row["number_value"]
    if before == after:
        return None
    node = printable(row["subject"])
    said = f"{node} is a lemon now and was none" if after else f"{node} was a lemon and is none now"
    return Change(row["cluster_id"], "lemon", f"Lemon list: {node}", said)


def _has_moved(was: Row, row: Row) -> bool:
    low, value, high = was["number_low"], row["number_value"], was["number_high"]
    is_below = None not in (low, value) and value < low
    return is_below or (None not in (value, high) and value > high)


def _moved(was: Row, row: Row) -> Change:
    what, unit = _named(row)
    write: Callable[[float | None], str] = duration if row["table_name"] == "est_mttf_by_size" else short

    def limited(number: Row) -> str:
        ends = (number[end] for end in ("number_low", "number_high"))
        low, high = ("no limit" if end is None else write(end) for end in ends)
        return f"{write(number['number_value'])} [{low}, {high}]"

    said = f"{what}: {limited(was)} before, {limited(row)} now{unit}"
    return Change(row["cluster_id"], "moved", what, said)


def _named(row: Row) -> tuple[str, str]:
    table, subject = row["table_name"], row["subject"]
    if table == "est_failure_rates":
        way = " by incidents" if row["number_key"].endswith(" incidents") else ""
        return f"Failure rate of {POPULATIONS.get(subject, printable(subject))}{way}", " per 1,000 node-days"
    if table == "est_cause_rates":
        return f"Failures by {printable(subject)}", " per million GPU-hours"
    return f"{FOLLOWED[table]} of jobs of {gpus(float(subject)) if subject else 'unknown size'}", ""
