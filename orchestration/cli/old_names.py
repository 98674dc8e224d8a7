"""Old names of commands: for one release they run the new call, or say what replaces them."""

from __future__ import annotations

import runpy
import shlex
import sys
from collections.abc import Sequence

import typer

from orchestration.cli.options import fail
from orchestration.terminal.output import say

SUCCESSORS = {
    "where": "faultline tables",
    "lineage": "faultline explain",
    "forget": "faultline refresh --forget",
    "export-raw": "python -m orchestration.spark export-raw",
    "import-marts": "python -m orchestration.spark import-marts",
}
REPLACED_BY = {
    "serve": "any DuckDB client and the notebook open the published file; docs/questions.md",
    "docs": "the pages are files; the last line of `faultline --help` names their folder",
    "units": "the units of systemd are files in docs/deploy/; docs/operations.md says how to install them",
    "metrics": "`faultline refresh` and `rollback` write the file that FAULTLINE_METRICS_FILE names, by default"
    " metrics/faultline.prom in the home; docs/alerts.md",
}
WITH_VALUE = ("--home", "--sources")


def add_old_names(app: typer.Typer) -> None:
    """Add the old names to the command line, hidden from help."""
    settings = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
    for name in (*SUCCESSORS, *REPLACED_BY):

        @app.command(name, hidden=True, context_settings=settings)
        def old_name(context: typer.Context) -> None:
            _run(app, str(context.info_name), context.args)


def _run(app: typer.Typer, name: str, arguments: Sequence[str]) -> None:
    if name in REPLACED_BY:
        fail(f"`faultline {name}` was removed: {REPLACED_BY[name]}", 2)
    words = shlex.split(SUCCESSORS[name])
    call = [*words[:-1], *_as_options(words[-1], arguments)] if words[-1][0] == "-" else [*words, *arguments]
    say(f"faultline: `faultline {name}` is now `{shlex.join(call)}`", is_error=True)
    if words[0] == "python":
        sys.argv = call[2:]
        runpy.run_module(words[2], run_name="__main__")
    else:
        app(call[1:], prog_name=call[0])


def _as_options(option: str, arguments: Sequence[str]) -> list[str]:
    """Turn a cluster and patterns of its files into options CLUSTER/PATTERN, and keep the other options."""
    names, options = [], []
    words = iter(arguments)
    for word in words:
        if word.startswith("-"):
            options += [word, next(words, "")] if word in WITH_VALUE else [word]
        else:
            names.append(word)
    values = [f"{names[0]}/{pattern}" for pattern in names[1:]] or names
    # Without a cluster the option has no value: wrong usage.
    return [*options, *([word for value in values for word in (option, value)] or [option])]
