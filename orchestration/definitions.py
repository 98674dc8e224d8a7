"""Everything Dagster loads, on one screen."""

from __future__ import annotations

import dagster as dg

import assets.estimates
import assets.raw
import assets.report
from orchestration.checks import asset_checks as checks
from orchestration.dbt import build as dbt
from orchestration.environment import HomeSettings, read_settings
from orchestration.jobs import in_process, nightly, refresh
from orchestration.publication import publish
from orchestration.publication.last_good import last_good_asset
from orchestration.resources import resources


def build(settings: HomeSettings) -> dg.Definitions:
    """Bind assets, checks, job and schedule to one home and its settings."""
    dbt.prepare(settings)
    raw = dg.load_assets_from_package_module(assets.raw)
    models = dbt.dbt_models(settings)
    estimates = dg.load_assets_from_package_module(assets.estimates)
    report = dg.load_assets_from_package_module(assets.report)
    built = [key for asset in (models, *estimates) if isinstance(asset, dg.AssetsDefinition) for key in asset.keys]
    last_good = last_good_asset(settings.home, upstream=built)
    published = publish.published_asset(settings, upstream=dg.AssetKey(["report", "index"]))
    return dg.Definitions(
        assets=[*raw, models, *estimates, last_good, *report, published],
        asset_checks=checks.all_checks(estimates),
        jobs=[refresh],
        schedules=[nightly(settings)],
        resources=resources(settings),
        executor=in_process,
    )


@dg.definitions
def defs() -> dg.Definitions:
    """Bind them to the settings of this process: Dagster's code server, which starts here."""
    return build(read_settings())
