"""The asset upstream of raw, which fetches logs from Slurm.

A refresh pulls before it takes the lock. A failed pull stops nothing: the cluster is built from the present logs, and
is marked as stale.
"""

from collections.abc import Mapping

import dagster as dg

from assets.sources.settings import Pull, Untrusted
from orchestration.lifecycle.session import SessionWarehouse
from orchestration.pull.clusters import pull_all
from orchestration.pull.outcomes import in_words, last_outcome
from orchestration.runs.jobs import COMMAND
from orchestration.settings.home import Home


def pulls_asset(home: Home, clusters: Mapping[str, Pull | Untrusted]) -> dg.AssetsDefinition:
    """Return the asset that fetches the logs of a home's clusters before they are read."""

    @dg.asset(key=["sources", "pulls"], group_name="sources", kinds={"slurm"})
    def pulls(
        context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[SessionWarehouse]
    ) -> dg.MaterializeResult[None]:
        """How fetching logs from Slurm ended, the first step of a refresh; `faultline refresh` does it before the run.

        Accounting, node events, nodes and the queue. One folder per cluster with `[pull]` in its cluster.toml.
        """
        if warehouse.session.is_whole and COMMAND not in context.run.tags:
            pull_all(clusters, home, context.log.info)
        found = {cluster_id: last_outcome(home, cluster_id) for cluster_id in clusters}
        outcomes = {cluster_id: outcome for cluster_id, outcome in found.items() if outcome is not None}
        for cluster_id, outcome in outcomes.items():
            if not outcome.is_whole:
                context.log.warning(f"{cluster_id}: {outcome.status}: {outcome.reason}; {outcome.next_step}")
        return dg.MaterializeResult(
            metadata={
                cluster_id: f"{outcome.status}, accounting up to {in_words(outcome.pulled_to)}"
                for cluster_id, outcome in outcomes.items()
            }
        )

    return pulls
