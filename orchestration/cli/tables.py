"""`faultline tables`: the published tables, or the file, upstream tables and columns of one table of any schema."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli.completion import complete_tables
from orchestration.cli.options import HomeOption, JsonOption, answer, settings_of

EXAMPLES = "Example: `faultline tables fct_failures`"


def tables(
    table: Annotated[
        str | None,
        typer.Argument(
            help="Show the file that defines this table, published or not, the tables that it reads, and its columns.",
            autocompletion=complete_tables,
        ),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the published tables with their rows and grain, or one table's file, upstream tables and columns."""
    file = settings_of(home).home.published_file
    if table is None:
        from orchestration.read_commands.catalogue import show_tables

        answer(lambda: show_tables(file, as_json))
    else:
        from orchestration.read_commands.descriptions import show_table

        answer(lambda: show_table(file, table, as_json))
