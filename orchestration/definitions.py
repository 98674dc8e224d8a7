"""Everything that Dagster loads, on one screen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import dagster as dg

import assets.estimates
import assets.raw
import assets.report
from assets.raw.logs import LOGS
from orchestration.checks import asset_checks as checks
from orchestration.dbt import build as dbt
from orchestration.lifecycle.published import published_asset
from orchestration.lifecycle.pulls import pulls_asset
from orchestration.lifecycle.resources import resources
from orchestration.lifecycle.session import Caller
from orchestration.publication.last_good import last_good_asset
from orchestration.pull.clusters import clusters_to_pull
from orchestration.runs.jobs import Everything, in_process, nightly, refresh_job
from orchestration.sensors.alerting import alerting_sensors
from orchestration.sensors.new_files import new_files
from orchestration.settings.environment import HomeSettings, read_settings

PUBLISHED = {"marts", "estimates", "ops", "report", "published"}
"""Schemas of the assets that readers see."""
FLOW = (
    "sources", "raw", "seeds", "staging", "intermediate", "marts", "inputs", "estimates", "ops", "report", "published",
)  # fmt: skip
"""Schemas in the order in which a refresh makes them; Dagster lists groups by their names."""


def build(settings: HomeSettings, caller: Caller | None = None) -> dg.Definitions:
    """Bind assets, checks, the job, schedule and sensors to one home, its settings and the caller of the job."""
    dbt.prepare(settings)
    to_pull = clusters_to_pull(settings.home.sources)
    pulls = [pulls_asset(settings.home, to_pull)] if to_pull else []
    after_pulls = [definition.key for definition in pulls]
    raw = [
        asset.map_asset_specs(lambda spec: spec.merge_attributes(deps=after_pulls))
        for asset in dg.load_assets_from_package_module(assets.raw)
        if isinstance(asset, dg.AssetsDefinition)
    ]
    models = dbt.dbt_models(settings)
    estimates = dg.load_assets_from_package_module(assets.estimates)
    report = dg.load_assets_from_package_module(assets.report)
    built = [key for asset in (models, *estimates) if isinstance(asset, dg.AssetsDefinition) for key in asset.keys]
    last_good = last_good_asset(settings, upstream=built)
    published = published_asset(settings, upstream=dg.AssetKey(["report", "index"]))
    logs = [spec.merge_attributes(deps=after_pulls) for spec in LOGS]
    made = finished([*pulls, *logs, *raw, models, *estimates, last_good, *report, published], settings)
    judges = checks.all_checks(estimates)
    job = refresh_job()
    return dg.Definitions(
        assets=made,
        asset_checks=judges,
        resources=resources(settings, caller, Everything.of(made, judges)),
        executor=in_process,
        jobs=[job],
        schedules=[nightly(settings)],
        sensors=[new_files(settings), *alerting_sensors(settings, job)],
    )


def finished(assets: Sequence[Any], settings: HomeSettings) -> list[Any]:
    """Add to every asset its group, and a freshness policy to assets that readers see."""
    policy = dg.FreshnessPolicy.time_window(fail_window=timedelta(hours=settings.freshness_hours))

    def completed(spec: dg.AssetSpec) -> dg.AssetSpec:
        schema = spec.key.path[0]
        return spec.replace_attributes(
            freshness_policy=policy if schema in PUBLISHED else None,
            group_name=f"{FLOW.index(schema) + 1:02}_{schema}",
        )

    return list(dg.map_asset_specs(completed, assets))


@dg.definitions
def defs() -> dg.Definitions:
    """Return the definitions for the settings of this process; Dagster's code server starts here."""
    return build(read_settings())
