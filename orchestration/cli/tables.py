"""`faultline tables` and `faultline where`: what is published, what its columns mean, and which file defines it."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli.completion import complete_tables
from orchestration.cli.options import HomeOption, JsonOption, answer, settings_of

TABLES_EXAMPLE = "Example: `faultline tables fct_failures`"
WHERE_EXAMPLE = "Example: `faultline where marts.fct_failures`"


def tables(
    table: Annotated[
        str | None,
        typer.Argument(help="Show the columns of this table: types, units, meanings.", autocompletion=complete_tables),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List what is published: tables, rows, what one row is; of one table, its columns."""
    from orchestration.read_commands.catalogue import show_table, show_tables

    file = settings_of(home).home.published_file
    answer(lambda: show_table(file, table, as_json) if table else show_tables(file, as_json))


def where(
    table: Annotated[
        str, typer.Argument(help="schema.table, or the table's name alone.", autocompletion=complete_tables)
    ],
    as_json: JsonOption = False,
) -> None:
    """Print the file that defines a table."""
    from orchestration.read_commands.catalogue import show_where

    answer(lambda: show_where(table, as_json))
