"""`faultline export`: the published tables as Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestration.cli.completion import complete_tables
from orchestration.cli.options import HomeOption, JsonOption, answer, settings_of

EXAMPLES = "Example: `faultline export /data/faultline --table fct_attempts --table est_failure_rates`"


def export(
    folder: Annotated[Path, typer.Argument(help="Where to write FOLDER/SCHEMA/TABLE.parquet.")],
    table: Annotated[
        list[str] | None,
        typer.Option("--table", help="Only this table; can be repeated.", autocompletion=complete_tables),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the published tables as Parquet, each with its description, its run and what its columns mean."""
    from orchestration.read_commands import export as exporting

    answer(lambda: exporting.export(settings_of(home).home.published_file, folder, table or (), as_json), writes=True)
