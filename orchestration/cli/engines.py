"""The commands around a build on another engine: raw tables out, marts back in (docs/spark.md)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestration.cli.options import HomeOption, JsonOption, answer, settings_of

EXPORT_EXAMPLE = "Example: `faultline export-raw /data/raw`"
IMPORT_EXAMPLE = "Example: `faultline import-marts /data/spark/tables/marts.db`"


def export_raw(
    folder: Annotated[Path, typer.Argument(help="Where to write FOLDER/raw/TABLE and FOLDER/ops/TABLE.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write what was read as Parquet, by cluster and date: the input of the dbt project on Spark."""
    from orchestration import engines

    answer(lambda: engines.export_raw(settings_of(home).home, folder, as_json), writes=True)


def import_marts(
    folder: Annotated[Path, typer.Argument(help="Holds a folder of Parquet files per mart.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take marts that Spark built in place of those built here, for estimates and report."""
    from orchestration import engines

    answer(lambda: engines.import_marts(settings_of(home).home, folder, as_json), writes=True)
