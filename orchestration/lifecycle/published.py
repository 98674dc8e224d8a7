"""The last asset of a refresh, which publishes the new warehouse and its report."""

from collections.abc import Iterator

import dagster as dg

from orchestration.checks.asset_checks import failed_checks
from orchestration.lifecycle.session import SessionWarehouse
from orchestration.metrics.collecting import headline_numbers
from orchestration.publication.publish import publish_run
from orchestration.read_commands.sent_alerts import copy_alerts
from orchestration.runs.stages import record_stages
from orchestration.settings.environment import HomeSettings


def published_asset(settings: HomeSettings, upstream: dg.AssetKey) -> dg.AssetsDefinition:
    """Return the asset that publishes a home after everything upstream of it."""
    home = settings.home
    spec = dg.AssetSpec(
        ["published", "warehouse"],
        deps=[upstream],
        kinds={"duckdb"},
        skippable=True,
        description="The warehouse and its report, published in one step after every blocking check. One file per"
        " home.\n\nOnly a run of all assets and checks publishes.",
    )

    @dg.multi_asset(name="published__warehouse", specs=[spec])
    def published_warehouse(
        context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[SessionWarehouse]
    ) -> Iterator[dg.MaterializeResult[None]]:
        if not warehouse.session.is_whole:
            context.log.warning("part of a refresh: nothing is published; run the job refresh")
            return
        with warehouse.writing() as con:
            failed = failed_checks(con, context.run_id)
            if failed:
                raise dg.Failure(description="\n".join(["blocking checks failed:", *map(str, failed)]))
            # For readers: the publication includes the stages up to here.
            record_stages(con, context.instance, context.run_id)
            copy_alerts(con, home)
        counts = publish_run(warehouse, home, context.run_id, settings.keep_publications, settings.publish_group)
        yield dg.MaterializeResult(
            asset_key=spec.key,
            metadata={
                "tables": len(counts),
                "rows": sum(counts.values()),
                "file": dg.MetadataValue.path(home.published_file),
                "report": dg.MetadataValue.path(home.report),
                **headline_numbers(home.published_file),
            },
        )

    return published_warehouse
