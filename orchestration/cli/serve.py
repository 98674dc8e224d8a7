"""`faultline serve`: a page with an SQL box over the published file, for this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestration.cli.options import HomeOption, fail, settings_of
from orchestration.terminal import say

EXAMPLES = """Examples:

`faultline serve`, then open the address that it prints.

From another machine: `ssh -L 3001:localhost:3001 HOST`, then open the same address there.
"""


def serve(
    home: HomeOption = None,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port of this machine to listen on; 0 takes a free one.")
    ] = 3001,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            help="File with the token to demand [env FAULTLINE_UI_TOKEN holds the token itself; default: a new one].",
        ),
    ] = None,
) -> None:
    """Ask the published warehouse in a browser: ready questions and SQL, read only; only who has the token gets in."""
    from orchestration.ui.guard import Rules
    from orchestration.ui.question_server import serve_questions
    from orchestration.ui.serving import Address, NotServing
    from orchestration.ui.tokens import Token, WeakToken

    try:
        token = Token.choose(token_file)
    except WeakToken as error:
        raise typer.BadParameter(str(error), param_hint="--token-file") from None

    def announce(link: str) -> None:
        say(link if token.is_given else f"{link}?token={token.value}")
        say("stop with Ctrl-C")

    rules = Rules(token, command="faultline serve")
    try:
        serve_questions(settings_of(home), Address(port=port), rules, announce)
    except NotServing as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
