"""`faultline query`: one SELECT on the published file."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from orchestration.cli.options import HomeOption, answer, settings_of

EXAMPLES = 'Example: `faultline query "select state, count(*) from fct_attempts group by 1" --format csv`'


def query(
    sql: Annotated[str, typer.Argument(help="One SELECT. Tables need no schema.")],
    home: HomeOption = None,
    fmt: Annotated[Literal["table", "csv", "json"], typer.Option("--format", help="How to print the rows.")] = "table",
) -> None:
    """Ask the published warehouse; works while a refresh runs."""
    from orchestration.read_commands.query import run_query

    answer(lambda: run_query(settings_of(home).home.published_file, sql, fmt))
