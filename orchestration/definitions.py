"""Everything Dagster loads, on one screen."""

from __future__ import annotations

import dagster as dg

import assets.estimates
import assets.raw
import assets.report
from orchestration import checks, dbt, publish, resources, schedules
from orchestration.home import Home
from orchestration.jobs import refresh


def build(home: Home) -> dg.Definitions:
    """Bind assets, checks, job and schedule to one home."""
    dbt.prepare(home)
    raw = dg.load_assets_from_package_module(assets.raw)
    models = dbt.dbt_models(home)
    estimates = dg.load_assets_from_package_module(assets.estimates)
    report = dg.load_assets_from_package_module(assets.report)
    published = publish.published_asset(home, upstream=[key for asset in report for key in asset.keys])
    return dg.Definitions(
        assets=[*raw, models, *estimates, *report, published],
        asset_checks=checks.all_checks(),
        jobs=[refresh],
        schedules=[schedules.nightly(*resources.schedule_settings())],
        resources=resources.resources(home),
    )


@dg.definitions
def defs() -> dg.Definitions:
    """Bind them to the home of this process."""
    return build(resources.current_home())
