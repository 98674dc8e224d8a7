"""`faultline metrics`: metrics for Prometheus, as text, as a file, or over HTTP on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestration.cli.options import HomeOption, answer, fail, settings_of
from orchestration.terminal import say, write

if TYPE_CHECKING:
    from orchestration.environment import HomeSettings

EXAMPLES = """Examples:

For the node exporter: `faultline metrics --out /var/lib/prometheus/node-exporter/faultline.prom`

For Prometheus on this machine: `faultline metrics --serve --token-file FILE`, then scrape `http://127.0.0.1:9838/metrics`
with that token
"""
PORT = 9838


def metrics(
    home: HomeOption = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write this file, whole or not at all.")] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Answer over HTTP on 127.0.0.1 until stopped; each request reads anew.")
    ] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="With --serve: 0 takes a free one.")] = PORT,
    token_file: Annotated[
        Path | None,
        typer.Option(
            "--token-file",
            help="With --serve: file with the token to demand"
            " [env FAULTLINE_UI_TOKEN holds the token itself; default: a new one].",
        ),
    ] = None,
) -> None:
    """Give the metrics of a home for Prometheus: rates, MTTF, ETTR, losses, lemons, age of the data, runs."""
    from orchestration.metrics.collecting import exposition, write_metrics

    settings = settings_of(home)
    if serve:
        _serve(settings, port, token_file)
    elif out is not None:
        try:
            answer(lambda: write_metrics(settings, out.absolute()))
        except OSError as error:
            fail(f"{out} cannot be written: {error.strerror or error}; name another file")
    else:
        write(answer(lambda: exposition(settings)).decode())


def _serve(settings: HomeSettings, port: int, token_file: Path | None) -> None:
    from orchestration.metrics.serving import serve_metrics
    from orchestration.ui.guard import Rules
    from orchestration.ui.serving import Address, NotServing
    from orchestration.ui.tokens import Token, WeakToken

    try:
        token = Token.choose(token_file)
    except WeakToken as error:
        raise typer.BadParameter(str(error), param_hint="--token-file") from None

    def announce(link: str) -> None:
        say(link if token.is_given else f"{link}?token={token.value}")
        say("stop with Ctrl-C")

    try:
        serve_metrics(settings, Address(port=port), Rules(token, command="faultline metrics --serve"), announce)
    except NotServing as error:
        fail(str(error))
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
