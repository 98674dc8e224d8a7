"""The command `faultline`: one module per command. Each reads its options and calls the package that does the work.

Exit status 0 done, 1 failed (what, why and what to do next on stderr), 2 wrong usage.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from assets.sources.text.masking import mask
from orchestration import terminal
from orchestration.cli import (
    alerts,
    docs,
    doctor,
    engines,
    explain,
    export,
    forget,
    init,
    lemons,
    lineage,
    metrics,
    plan,
    pull,
    query,
    refresh,
    report,
    rollback,
    serve,
    simulate,
    status,
    tables,
    ui,
    units,
)
from orchestration.home import code_version

app = typer.Typer(
    name="faultline",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Turns the raw logs of a Slurm GPU cluster into a study of its reliability.",
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        terminal.say(f"faultline {code_version()}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_show_version,
            is_eager=True,
            help="Print the version and a hash of the code.",
        ),
    ] = False,
) -> None:
    pass


app.command(epilog=init.EXAMPLES)(init.init)
app.command(epilog=refresh.EXAMPLES)(refresh.refresh)
app.command(epilog=pull.EXAMPLES)(pull.pull)
app.command(epilog=report.EXAMPLES)(report.report)
app.command(epilog=forget.EXAMPLES)(forget.forget)
app.command(epilog=simulate.EXAMPLES)(simulate.simulate)
app.command(epilog=query.EXAMPLES)(query.query)
app.command(epilog=plan.EXAMPLES)(plan.plan)
app.command(epilog=lemons.EXAMPLES)(lemons.lemons)
app.command(epilog=tables.TABLES_EXAMPLE)(tables.tables)
app.command(epilog=tables.WHERE_EXAMPLE)(tables.where)
app.command(epilog=export.EXAMPLES)(export.export)
app.command(epilog=lineage.EXAMPLES)(lineage.lineage)
app.command(epilog=explain.EXAMPLES)(explain.explain)
app.command(epilog=status.EXAMPLES)(status.status)
app.command(epilog=alerts.EXAMPLES)(alerts.alerts)
app.command(epilog=metrics.EXAMPLES)(metrics.metrics)
app.command(epilog=rollback.EXAMPLES)(rollback.rollback)
app.command(epilog=doctor.EXAMPLES)(doctor.doctor)
app.command(epilog=docs.EXAMPLES)(docs.docs)
app.command("export-raw", epilog=engines.EXPORT_EXAMPLE)(engines.export_raw)
app.command("import-marts", epilog=engines.IMPORT_EXAMPLE)(engines.import_marts)
app.command(epilog=units.EXAMPLES)(units.units)
app.command(epilog=ui.EXAMPLES)(ui.ui)
app.command(epilog=serve.EXAMPLES)(serve.serve)


def main() -> None:
    """Entry point of the console script; an error of the system becomes one line, whatever command meets it."""
    try:
        with terminal.streams():
            app()
    except OSError as error:
        terminal.silence(sys.stdout)
        what = error.strerror or str(error)
        where = "the output cannot be written" if error.filename is None else error.filename
        terminal.say(f"faultline: {mask(f'{where}: {what}')}; look at its permissions and its disk", is_error=True)
        raise SystemExit(1) from None
