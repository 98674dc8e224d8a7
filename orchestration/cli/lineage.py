"""`faultline lineage`: what a table or a column is made of, down to the files."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli.completion import complete_tables
from orchestration.cli.options import HomeOption, JsonOption, answer, settings_of

EXAMPLES = """Examples:

Of a column: `faultline lineage estimates.est_failure_rates.failures_per_1000_node_days`

Of a table: `faultline lineage fct_failures`
"""


def lineage(
    name: Annotated[
        str, typer.Argument(metavar="TABLE[.COLUMN]", help="Table, or column of it.", autocompletion=complete_tables)
    ],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell where a number comes from: from table to table, down to the files that were read."""
    from orchestration.read_commands.lineage import show_lineage

    answer(lambda: show_lineage(settings_of(home).home.published_file, name, as_json))
