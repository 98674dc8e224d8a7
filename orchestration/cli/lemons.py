"""`faultline lemons`: the nodes to take out of service."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli.completion import complete_clusters
from orchestration.cli.options import HomeOption, JsonOption, answer, settings_of
from orchestration.terminal import output

EXAMPLES = "Example: `faultline lemons --cluster mycluster --limit 10`"


def lemons(
    cluster: Annotated[
        str | None,
        typer.Option("--cluster", help="This cluster only [default: all].", autocompletion=complete_clusters),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, help="Describe at most N nodes per cluster.")] = 30,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the nodes to take out, with reasons and a line for Slurm; say so if the data do not suffice."""
    from orchestration.read_commands import lemon_list
    from orchestration.read_commands.plan import WrongQuestion
    from orchestration.read_commands.saying import say_answer

    settings = settings_of(home)
    try:
        answers = answer(
            lambda: lemon_list.list_lemons(settings.home.published_file, cluster, limit, settings.freshness_hours)
        )
    except WrongQuestion as error:
        raise typer.BadParameter(output.visible(str(error))) from None
    if as_json:
        output.say_json(lemon_list.as_json(answers), indent=2)
    else:
        say_answer("lemons", clusters=[*map(lemon_list.with_hidden, answers)])
