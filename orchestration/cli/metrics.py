"""`faultline metrics`: metrics for Prometheus, as text, as a file, or over HTTP on this machine."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated

import typer

from orchestration.cli.options import HomeOption, answer, fail, settings_of
from orchestration.terminal import say, write

EXAMPLES = """Examples:

For the node exporter: `faultline metrics --out /var/lib/prometheus/node-exporter/faultline.prom`

For Prometheus on this machine: `faultline metrics --serve`, then scrape `http://127.0.0.1:9838/metrics`
"""
PORT = 9838


def metrics(
    home: HomeOption = None,
    out: Annotated[Path | None, typer.Option("--out", help="Write this file, whole or not at all.")] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Answer over HTTP on 127.0.0.1 until stopped; each request reads anew.")
    ] = False,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="With --serve: 0 takes a free one.")] = PORT,
) -> None:
    """Give the metrics of a home for Prometheus: rates, MTTF, ETTR, losses, lemons, age of the data, runs."""
    from orchestration.metrics.collecting import Metrics, exposition, write_metrics

    settings = settings_of(home)
    if serve:
        from prometheus_client import CollectorRegistry, start_http_server

        registry = CollectorRegistry(auto_describe=False)
        registry.register(Metrics(settings))
        try:
            server, _ = start_http_server(port, "127.0.0.1", registry)
        except OSError as error:
            fail(f"cannot listen on 127.0.0.1:{port}: {error.strerror}; try another --port")
        say(f"http://127.0.0.1:{server.server_port}/metrics\nstop with Ctrl-C")
        try:
            threading.Event().wait()
        except KeyboardInterrupt:
            server.shutdown()
            raise typer.Exit(130) from None
    elif out is not None:
        try:
            answer(lambda: write_metrics(settings, out.absolute()))
        except OSError as error:
            fail(f"{out} cannot be written: {error.strerror or error}; name another file")
    else:
        write(answer(lambda: exposition(settings)).decode())
