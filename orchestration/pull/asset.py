"""The asset in front of raw: note in `ops.pulls` how the last pull of each cluster ended.

A refresh pulls before it takes the lock. A failed pull stops nothing. The cluster is built from the logs that are
there, and is marked as stale.
"""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

import dagster as dg
import duckdb

from assets.warehouse import Warehouse
from orchestration.home import Home
from orchestration.pull.outcomes import PullOutcome, in_words, last_outcome

PULLS = dg.AssetKey(["sources", "pulls"])


def pulls_asset(home: Home, clusters: Collection[str]) -> dg.AssetsDefinition:
    """Build the asset that takes note of the last pulls of the clusters of a home before their logs are read."""

    @dg.asset(key=PULLS, group_name="sources", kinds={"slurm"})
    def pulls(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult[None]:
        """How fetching the logs from Slurm ended, which a refresh does first.

        Accounting, node events, nodes and the queue. One folder per cluster with `[pull]` in its cluster.toml.
        """
        outcomes = {cluster_id: last_outcome(home, cluster_id) for cluster_id in clusters}
        with warehouse.writing() as con:
            record_pulls(con, context.run_id, outcomes)
        for cluster_id, outcome in outcomes.items():
            if outcome is not None and not outcome.is_whole:
                context.log.warning(f"{cluster_id}: {outcome.status}: {outcome.reason}; {outcome.next_step}")
        return dg.MaterializeResult(
            metadata={
                cluster_id: f"{outcome.status}, accounting up to {in_words(outcome.pulled_to)}"
                for cluster_id, outcome in outcomes.items()
                if outcome is not None
            }
        )

    return pulls


def record_pulls(con: duckdb.DuckDBPyConnection, run_id: str, outcomes: Mapping[str, PullOutcome | None]) -> None:
    """Replace the rows of `ops.pulls` by what is known now; a cluster that was never pulled has none."""
    con.execute("delete from ops.pulls")
    for cluster_id, outcome in outcomes.items():
        if outcome is not None:
            ended_at, pulled_to = _in_utc(outcome.ended_at), _in_utc(outcome.pulled_to)
            con.execute(
                "insert into ops.pulls values (?, ?, ?, ?, ?, ?, ?)",
                [cluster_id, run_id, outcome.status, ended_at, pulled_to, outcome.reason, outcome.next_step],
            )


def _in_utc(moment: str | None) -> datetime | None:
    return None if moment is None else datetime.fromisoformat(moment).astimezone(UTC).replace(tzinfo=None)
