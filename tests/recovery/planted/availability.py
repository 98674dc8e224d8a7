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
from tests.recovery.planted import FOUND_BY_CHANCE, Line, Planted

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
    from marts.agg_availability_monthly as months
    inner join marts.dim_clusters as clusters using (cluster_id)
    where cluster_id like 'availability-%'
    order by cluster_id, month_date
"""


def compare(con: duckdb.DuckDBPyConnection, truth: Path) -> list[Line]:
    """Score hours, limits and budgets that burn against the simulator's own states of nodes."""
    rows = rows_of(con, PUBLISHED)
    both, either = dict.fromkeys(KINDS, 0.0), dict.fromkeys(KINDS, 0.0)
    within, burning, alerts, false_alarms = 0, 0, 0, 0
    clusters = {row["cluster_id"]: row for row in rows}
    days = {
        cluster_id: true_days(con, truth / cluster_id, row["from_epoch"], row["to_epoch"])
        for cluster_id, row in clusters.items()
    }
    for row in rows:
        day_number, day_seconds = days[row["cluster_id"]]
        month = np.array(day_number, "datetime64[D]").astype("datetime64[M]")
        known = dict(
            zip(KINDS, day_seconds[month == np.datetime64(row["month_date"], "M")].sum(axis=0) / 3600, strict=True)
        )
        for kind, true in known.items():
            # What nobody knows of may be idle.
            found = row[f"{kind}_node_hours"] + (row["unknown_node_hours"] if kind == "idle" else 0.0)
            both[kind] += min(found, true)
            either[kind] += max(found, true)
        availability = 1 - known["failed"] / (sum(known.values()) - known["planned_out"])
        within += row["availability_low"] - SLACK <= availability <= row["availability_high"] + SLACK
    for cluster_id, row in clusters.items():  # the newest month of each
        is_burning = burns(days[cluster_id][1], 1 - row["objective"])
        burning += is_burning
        is_told = row["burn_pace"] is not None
        alerts += is_told and is_burning
        false_alarms += is_told and not is_burning
    return [
        *(
            Line(f"node-hours {kind.replace('_', ' ')}, in truth and published alike", both[kind], either[kind], 0.98)
            for kind in KINDS
        ),
        Line("months whose limits hold the true availability", within, len(rows), at_least=0.95),
        Line("clusters whose budget burns that are told", alerts, burning, at_least=0.9),
        Line("clusters whose budget does not burn that are told", false_alarms, len(clusters) - burning,
             at_most=FOUND_BY_CHANCE),
    ]  # fmt: skip


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
    """Tell whether the truth burns the budget at one of the paces, over windows that end with the last whole day."""
    whole = seconds[seconds.sum(axis=1) == seconds.sum(axis=1).max()]

    def rate(days: int) -> float:
        failed, planned = (whole[-days:, KINDS.index(kind)].sum() for kind in ("failed", "planned_out"))
        return float(failed / (whole[-days:].sum() - planned) / allowed)

    return any(min(rate(long), rate(short)) >= factor for long, short, factor in PACES)
