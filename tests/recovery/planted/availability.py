"""Node-hours by what a node did in them, and error budgets that burn and that do not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
from numpy.typing import NDArray

from assets.rows import rows_of
from assets.simulation.clusters.reading import read_profile
from assets.simulation.profiles import Burst, Repairs
from assets.warehouse import one_value
from tests.recovery.planted import FOUND_BY_CHANCE, Planted
from tests.truth.scorer import Claim, share

TITLE = "What was delivered, and whether the error budget burns"
DAYS = 34
DAY = 86_400
ORDINARY, WITHOUT_CONTROLLER_LOG = (replace(profile, objective=0.97) for profile in read_profile("demo"))
BURST = Burst(DAYS - 6, DAYS, "pcie", 0.4)
CLUSTERS = (
    Planted(replace(ORDINARY, cluster_id="availability-burst-1", bursts=(BURST,)), DAYS, 0.5, seed=1),
    Planted(replace(ORDINARY, cluster_id="availability-burst-2", bursts=(BURST,)), DAYS, 0.5, seed=2),
    Planted(
        replace(ORDINARY, cluster_id="availability-slow-repairs", fault_rate=0.1, repairs=Repairs(6.0, 72.0)),
        DAYS, 0.5, seed=3,
    ),
    *(Planted(replace(ORDINARY, cluster_id=f"availability-kept-{seed}"), DAYS, 0.5, seed) for seed in (4, 5)),
    *(
        Planted(replace(WITHOUT_CONTROLLER_LOG, cluster_id=f"availability-kept-{seed}"), DAYS, 0.5, seed)
        for seed in (6, 7)
    ),
)  # fmt: skip
KINDS = ("idle", "failed", "planned_out", "allocated")
PACES = ((3, 1, 3), (7, 1, 2), (28, 7, 1))
"""Days of the longer and the shorter window, and how fast the budget burns in both."""
SLACK = 0.001
"""An availability is off by this much where a log has a moment seconds away from the truth."""
PUBLISHED = """
    select
        months.*,
        epoch(clusters.study_from_at)::bigint as from_epoch,
        epoch(clusters.study_to_at)::bigint as to_epoch
    from published.marts.agg_availability_monthly as months
    inner join published.marts.dim_clusters as clusters using (cluster_id)
    where cluster_id like 'availability-%'
    order by cluster_id, month_date
"""
CLAIMS = (
    *(
        Claim(f"node-hours {kind.replace('_', ' ')} as in truth", "hours", f"kind = '{kind}'", None,
              f"kind = '{kind}' and is_both", weight="hours", recall=0.98)
        for kind in KINDS
    ),
    share("months whose limits hold the true availability", "months", "is_within", recall=0.95),
    share("budgets that burn and are reported", "burning", "is_reported", "is_burning", recall=0.9),
    share("budgets that do not burn and are reported", "burning", "is_reported", "not is_burning",
          at_most=FOUND_BY_CHANCE),
)  # fmt: skip


def relate(con: duckdb.DuckDBPyConnection) -> None:
    """Compare hours, limits and burning budgets with the simulator's own states of nodes."""
    rows = rows_of(con, PUBLISHED)
    truth = Path(one_value(con, "select getvariable('truth')"))
    newest = {row["cluster_id"]: row for row in rows}
    days = {name: true_days(con, truth / name, row["from_epoch"], row["to_epoch"]) for name, row in newest.items()}
    con.execute("create table judged.hours (kind varchar, is_both boolean, hours double)")
    con.execute("create table judged.months (is_within boolean)")
    con.execute("create table judged.burning (is_burning boolean, is_reported boolean)")
    for row in rows:
        day_number, day_seconds = days[row["cluster_id"]]
        month = np.array(day_number, "datetime64[D]").astype("datetime64[M]")
        hours = day_seconds[month == np.datetime64(row["month_date"], "M")].sum(axis=0) / 3600
        known = dict(zip(KINDS, hours.tolist(), strict=True))
        for kind, true in known.items():
            # What nobody knows of may be idle.
            found = row[f"{kind}_node_hours"] + (row["unknown_node_hours"] if kind == "idle" else 0.0)
            parts = [(kind, True, min(found, true)), (kind, False, abs(found - true))]
            con.executemany("insert into judged.hours values (?, ?, ?)", parts)
        availability = 1 - known["failed"] / (sum(known.values()) - known["planned_out"])
        is_within = row["availability_low"] - SLACK <= availability <= row["availability_high"] + SLACK
        con.execute("insert into judged.months values (?)", [bool(is_within)])
    for name, row in newest.items():
        is_burning = burns(days[name][1], 1 - row["objective"])
        con.execute("insert into judged.burning values (?, ?)", [is_burning, row["burn_pace"] is not None])


def true_days(
    con: duckdb.DuckDBPyConnection, truth: Path, from_epoch: int, to_epoch: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count what each node did second by second: days since 1970, and node-seconds by day and kind."""
    first = from_epoch // DAY
    count = -(-to_epoch // DAY) - first
    intervals = con.execute(
        """
        select node, started_epoch, coalesce(ended_epoch, $end) as ended_epoch, if(is_planned, 2, 1) as kind
        from read_parquet($truth || '/outages.parquet')
        union all
        select unnest(nodes), started_epoch, coalesce(ended_epoch, $end), 3
        from read_parquet($truth || '/attempts.parquet')
        where started_epoch is not null
        order by node, kind
        """,
        {"truth": str(truth), "end": to_epoch},
    ).fetchnumpy()
    starts, ends = (
        np.clip(intervals[name], from_epoch, to_epoch).astype(np.int64) - first * DAY
        for name in ("started_epoch", "ended_epoch")
    )
    seconds = np.zeros((count, len(KINDS)), np.int64)
    (nodes,) = con.execute("select list(node) from read_parquet($1)", [str(truth / "nodes.parquet")]).fetchall()[0]
    for node in nodes:
        states = np.full(count * DAY, -1, np.int8)
        states[from_epoch - first * DAY : to_epoch - first * DAY] = 0
        for row in np.flatnonzero(intervals["node"] == node):
            states[starts[row] : ends[row]] = intervals["kind"][row]
        for kind in range(len(KINDS)):
            seconds[:, kind] += np.count_nonzero(states.reshape(count, DAY) == kind, axis=1)
    return np.arange(first, first + count), seconds


def burns(seconds: NDArray[np.int64], allowed: float) -> bool:
    """Whether the truth burns the budget at one of the paces, over windows that end with the last whole day."""
    whole = seconds[seconds.sum(axis=1) == seconds.sum(axis=1).max()]

    def rate(days: int) -> float:
        failed, planned = (whole[-days:, KINDS.index(kind)].sum() for kind in ("failed", "planned_out"))
        return float(failed / (whole[-days:].sum() - planned) / allowed)

    return any(min(rate(long), rate(short)) >= factor for long, short, factor in PACES)
