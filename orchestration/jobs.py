"""The main job: everything, in one process, because one process at a time may write the working file."""

from __future__ import annotations

import dagster as dg

in_process = dg.in_process_executor.configured({}, config_schema={})
"""Runs every step in the process of the run, and takes no configuration from a run."""

refresh = dg.define_asset_job(
    "refresh",
    selection=dg.AssetSelection.all(),
    executor_def=in_process,
    description="Read what is new, build, fit, validate, write the report and publish.",
    tags={"dagster/max_retries": "2", "dagster/retry_on_asset_or_op_failure": "false"},
)
