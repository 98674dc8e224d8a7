"""Everything Dagster loads, on one screen."""

from __future__ import annotations

import dagster as dg

import assets.estimates
import assets.raw
import assets.report
from orchestration import schedules
from orchestration.checks import asset_checks as checks
from orchestration.dbt import build as dbt
from orchestration.environment import Settings, current_home
from orchestration.home import Home
from orchestration.jobs import in_process, refresh
from orchestration.publication import publish
from orchestration.publication.last_good import last_good_asset
from orchestration.resources import resources


def build(home: Home) -> dg.Definitions:
    """Bind assets, checks, job and schedule to one home."""
    dbt.prepare(home)
    settings = Settings.current()
    raw = dg.load_assets_from_package_module(assets.raw)
    models = dbt.dbt_models(home)
    estimates = dg.load_assets_from_package_module(assets.estimates)
    report = dg.load_assets_from_package_module(assets.report)
    built = [key for asset in (models, *estimates) if isinstance(asset, dg.AssetsDefinition) for key in asset.keys]
    last_good = last_good_asset(home, upstream=built)
    published = publish.published_asset(
        home, upstream=dg.AssetKey(["report", "index"]), keep=settings.keep_publications, group=settings.publish_group
    )
    return dg.Definitions(
        assets=[*raw, models, *estimates, last_good, *report, published],
        asset_checks=checks.all_checks(estimates),
        jobs=[refresh],
        schedules=[schedules.nightly(settings.cron, settings.timezone, home)],
        resources=resources(home, settings),
        executor=in_process,
    )


@dg.definitions
def defs() -> dg.Definitions:
    """Bind them to the home of this process."""
    return build(current_home())
