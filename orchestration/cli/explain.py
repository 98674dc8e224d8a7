"""`faultline explain`: why something failed, what a node went through, where a number comes from."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli.completion import complete_clusters, complete_tables
from orchestration.cli.options import HomeOption, JsonOption, answer, settings_of
from orchestration.terminal import output

EXAMPLES = """Examples:

A job: `faultline explain 421378 --cluster mycluster`

A failure, by its attempt_id: `faultline explain mycluster:421378:1775350972`

A node: `faultline explain node017`

A number, down to the files it was read from: `faultline explain est_failure_rates.failures_per_1000_node_days`

A table: `faultline explain fct_failures`
"""


def explain(
    name: Annotated[
        str,
        typer.Argument(
            metavar="JOB|NODE|FAILURE|TABLE[.COLUMN]", help="What to explain.", autocompletion=complete_tables
        ),
    ],
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="Search in this cluster [default: any].", autocompletion=complete_clusters),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Show at most N entries of a node's history.")] = 30,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain why a job ended, what a node went through, or where a number comes from."""
    from orchestration.read_commands.explain.answering import explained
    from orchestration.read_commands.explain.answers import print_answer

    found = answer(lambda: explained(settings_of(home).home.published_file, name, cluster))
    if as_json:
        output.say_json(found.as_json(), indent=2)
    else:
        print_answer(found, limit)
