"""`faultline ui`: its options, what it refuses, and what it prints at start."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from orchestration.cli.options import HomeOption, SourcesOption, fail, settings_of
from orchestration.terminal.output import say
from orchestration.upkeep.permissions import private_files

EXAMPLES = """Examples:

On this machine: `faultline ui --port 3001`, then open the address that it prints.

From another machine: `ssh -L 3000:localhost:3000 HOST`, then open the same address there.

For people who may only look: `faultline ui --read-only`

Behind a proxy with single sign-on (docs/ui.md):
`faultline ui --token-file /etc/faultline/token --allowed-host faultline.example.org`
"""


def ui(  # noqa: PLR0917
    home: HomeOption = None,
    sources: SourcesOption = None,
    host: Annotated[
        str,
        typer.Option(
            "--host",
            help="Address to listen on. If others can reach it, it needs `--i-have-a-proxy` or a token of yours.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port to listen on; 0 takes a free one.")
    ] = 3000,
    socket: Annotated[
        Path | None,
        typer.Option("--socket", help="Listen on this Unix socket instead, which only you can open (mode 0600)."),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            help="File with the token to demand [env FAULTLINE_UI_TOKEN holds the token itself; "
            "default: a new one at each start, in the address that is printed].",
        ),
    ] = None,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option("--allowed-host", help="Name by which a proxy reaches this server; can be repeated."),
    ] = None,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Refuse to start, stop or delete anything; the schedule still runs.")
    ] = False,
    i_have_a_proxy: Annotated[
        bool,
        typer.Option("--i-have-a-proxy", help="A proxy encrypts and restricts what reaches `--host` from the network."),
    ] = False,
) -> None:
    """Serve Dagster's web UI with assets, checks, runs and the nightly schedule; it demands a token."""
    from orchestration.ui.guard import LOOPBACK, Rules
    from orchestration.ui.serving import ANY_ADDRESS, Address, NotServing, serve
    from orchestration.ui.tokens import Token, WeakToken

    names = [_host_name(name) for name in allowed_host or []]
    try:
        token = Token.choose(token_file)
    except WeakToken as error:
        raise typer.BadParameter(str(error), param_hint="--token-file") from None
    if socket is None and not _is_loopback(host) and not (i_have_a_proxy or token.is_given):
        raise typer.BadParameter(
            f"other machines can reach {host}, and nothing here is encrypted: give a token of your own "
            "(--token-file or FAULTLINE_UI_TOKEN), or confirm with --i-have-a-proxy that a proxy stands before it",
            param_hint="--host",
        )
    if host not in ANY_ADDRESS:
        names.append(_host_name(host))
    rules = Rules(token, LOOPBACK | set(names))

    from orchestration.runs.instance import UnreadableSettings, prepare_storage

    settings = settings_of(home, sources)

    def announce(link: str, runs_schedule: bool) -> None:
        if socket is not None:
            say(f"forward {socket.absolute()} to your machine: ssh -L 3000:{socket.absolute()} HOST; then open")
        say(link if token.is_given else f"{link}?token={token.value}")
        if not runs_schedule:
            say("the schedule is run by another `faultline ui` of this home")
        say("stop with Ctrl-C")

    try:
        with private_files():
            prepare_storage(settings.home)
            serve(settings, Address(host, port, socket), rules, announce, is_read_only=read_only)
    except (NotServing, UnreadableSettings) as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _is_loopback(host: str) -> bool:
    return host in {"localhost", "::1"} or host.startswith("127.")


def _host_name(name: str) -> str:
    """Return a name as the header Host has it, in lower case and without a port."""
    is_bare_address = name.count(":") > 1 and not name.startswith("[")
    return f"[{name}]".lower() if is_bare_address else re.sub(r":[0-9]+$", "", name).lower()
