"""The asset in front of raw: record in `ops.pulls` how the last pull of each cluster ended.

A refresh pulls before it takes the lock. A failed pull stops nothing. The cluster is built from the logs that are
there, and is marked as stale.
"""

from collections.abc import Collection

import dagster as dg

from assets.warehouse import Warehouse
from orchestration.home import Home
from orchestration.pull.outcomes import in_words, last_outcome


def pulls_asset(home: Home, clusters: Collection[str]) -> dg.AssetsDefinition:
    """Build the asset that records the last pulls of the clusters of a home before their logs are read."""

    @dg.asset(key=["sources", "pulls"], group_name="sources", kinds={"slurm"})
    def pulls(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult[None]:
        """How fetching the logs from Slurm ended, which a refresh does first.

        Accounting, node events, nodes and the queue. One folder per cluster with `[pull]` in its cluster.toml.
        """
        found = {cluster_id: last_outcome(home, cluster_id) for cluster_id in clusters}
        outcomes = {cluster_id: outcome for cluster_id, outcome in found.items() if outcome is not None}
        with warehouse.writing() as con:
            con.execute("delete from ops.pulls")
            for cluster_id, outcome in outcomes.items():
                row = {"cluster_id": cluster_id, "run_id": context.run_id} | outcome.row()
                con.execute("insert into ops.pulls values (?, ?, ?, ?, ?, ?, ?)", [*row.values()])
                if not outcome.is_whole:
                    context.log.warning(f"{cluster_id}: {outcome.status}: {outcome.reason}; {outcome.next_step}")
        return dg.MaterializeResult(
            metadata={
                cluster_id: f"{outcome.status}, accounting up to {in_words(outcome.pulled_to)}"
                for cluster_id, outcome in outcomes.items()
            }
        )

    return pulls
