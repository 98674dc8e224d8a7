"""What changed since an earlier report: numbers that left the interval they had, lemons that came or went.

Numbers of different versions of a method are never compared; the row says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb

from assets.report.numbers import duration, gpus, printable, short
from assets.report.queries import Row
from assets.report.wording import POPULATIONS
from assets.rows import rows_of

Kind = Literal["moved", "lemon", "new", "gone", "not compared"]

FOLLOWED: dict[str, tuple[str, str, str, str]] = {
    "est_failure_rates": (
        "Failure rate",
        "population || ' ' || counted_as",
        "failures_per_1000_node_days",
        "where is_reference or (population = 'all' and counted_as = 'incidents')",
    ),
    "est_mttf_by_size": ("MTTF", "gpu_size_bin", "mttf_hours", ""),
    "est_ettr_by_size": ("Measured ETTR", "gpu_size_bin", "ettr_measured", ""),
    "est_cause_rates": (
        "Failures by cause",
        "failure_category",
        "failures_per_gpu_hour",
        "left join marts.dim_failure_categories using (failure_category) where counted_as = 'attempts'",
    ),
    "est_lemon_nodes": ("Lemon list", "node_id", "", "left join marts.dim_nodes using (cluster_id, node_id)"),
}
"""Tables whose numbers have limits and are followed: what they are called, key, column and rows."""
SUBJECTS = {"est_failure_rates": "population", "est_cause_rates": "label", "est_lemon_nodes": "node_name"}
"""Columns with what a number is about, where that is not its key."""


@dataclass(frozen=True)
class Change:
    """One thing that is not as it was.

    Attributes
    ----------
    cluster_id
        Whose; empty where it concerns all.
    kind
        `moved`: the new value lies outside the old interval. `lemon`: a node came onto the list or left it. `new` and
        `gone`: a cluster. `not compared`: another version of the method, or of the file.
    what
        The number, in words.
    said
        The whole row in words.
    """

    cluster_id: str
    kind: Kind
    what: str
    said: str


def changes_since(before: Path, numbers: list[Row]) -> list[Change]:
    """Compare an earlier warehouse with numbers that were read; one that cannot be read is one row that says so."""
    try:
        with duckdb.connect(str(before), read_only=True) as con:
            earlier = read_numbers(con)
    except duckdb.Error:
        said = "The earlier report is of a version whose numbers cannot be read: nothing is compared"
        return [Change("", "not compared", "All numbers", said)]
    return compare(earlier, numbers)


def read_numbers(con: duckdb.DuckDBPyConnection) -> list[Row]:
    """Read the numbers that are followed."""
    return [row for table in FOLLOWED for row in rows_of(con, _query(table))]


def _query(table: str) -> str:
    _, key, stem, rows = FOLLOWED[table]
    limits = ("low", "high")
    columns = ["cast(verdict = 'lemon' as double) as number_value", *(f"null as number_{end}" for end in limits)]
    if stem:
        scale = "1e6 *" if table == "est_cause_rates" else ""
        columns = [f"{scale} {stem} as number_value", *(f"{scale} {stem}_{end} as number_{end}" for end in limits)]
    return f"""
        select cluster_id, '{table}' as table_name, '{table} ' || ({key}) as number_key,
            cast(coalesce({SUBJECTS.get(table, key)}, {key}) as varchar) as subject, method_version,
            {", ".join(columns)}
        from estimates.{table} {rows}
        order by cluster_id, number_key
    """


def compare(earlier: list[Row], later: list[Row]) -> list[Change]:
    """List what changed, cluster by cluster: what is not compared, then lemons, then numbers.

    A number moved where its new value lies outside its old interval. One that had no interval, or has no value now,
    did not.
    """
    before = {(row["cluster_id"], row["number_key"]): row for row in earlier}
    old, new = _clusters(earlier), _clusters(later)
    found = [
        Change(name, "new", "Cluster", f"{printable(name)} is new in the report") for name in new if name not in old
    ]
    found += [
        Change(name, "gone", "Cluster", f"{printable(name)} is no longer in the report")
        for name in old
        if name not in new
    ]
    for name in (name for name in new if name in old):
        own = [row for row in later if row["cluster_id"] == name]
        changed = _changed_methods([row for row in earlier if row["cluster_id"] == name], own)
        found += [
            Change(
                name,
                "not compared",
                FOLLOWED[table][0],
                f"{FOLLOWED[table][0]}: the method is another one ({old} before, {new} now): not compared",
            )
            for table, (old, new) in changed.items()
        ]
        pairs = [(before.get((name, row["number_key"])), row) for row in own if row["table_name"] not in changed]
        found += [change for was, row in pairs if (change := _lemon_change(was, row)) is not None]
        found += [_moved(was, row) for was, row in pairs if was is not None and _has_moved(was, row)]
    return found


def _clusters(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["cluster_id"] for row in rows))


def _changed_methods(earlier: list[Row], later: list[Row]) -> dict[str, tuple[str, str]]:
    versions = [{row["table_name"]: row["method_version"] for row in rows} for rows in (earlier, later)]
    return {
        table: (versions[0][table], version)
        for table, version in versions[1].items()
        if versions[0].get(table, version) != version
    }


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
    if row["number_value"] is None or (was["number_low"] is None and was["number_high"] is None):
        return False
    is_below = was["number_low"] is not None and row["number_value"] < was["number_low"]
    return is_below or (was["number_high"] is not None and row["number_value"] > was["number_high"])


def _moved(was: Row, row: Row) -> Change:
    what, unit = _named(row)
    is_hours = row["table_name"] == "est_mttf_by_size"

    def written(value: float | None) -> str:
        return duration(value) if is_hours else short(value)

    def limited(number: Row) -> str:
        low, high = (None if number[end] is None else written(number[end]) for end in ("number_low", "number_high"))
        return f"{written(number['number_value'])} [{low or 'no limit'}, {high or 'no limit'}]"

    said = f"{what}: {limited(was)} before, {limited(row)} now{unit}"
    return Change(row["cluster_id"], "moved", what, said)


def _named(row: Row) -> tuple[str, str]:
    table, subject = row["table_name"], row["subject"]
    if table == "est_failure_rates":
        way = " by incidents" if row["number_key"].endswith(" incidents") else ""
        return f"Failure rate of {POPULATIONS.get(subject, printable(subject))}{way}", " per 1,000 node-days"
    if table == "est_cause_rates":
        return f"Failures by {printable(subject)}", " per million GPU-hours"
    return f"{FOLLOWED[table][0]} of jobs of {gpus(float(subject)) if subject else 'unknown size'}", ""
