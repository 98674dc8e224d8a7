"""The command `faultline`: one module per command. Each reads its options and calls the package that does the work.

Exit status 0 done, 1 failed (what, why and what to do next on stderr), 2 wrong usage.
"""

from __future__ import annotations

from typing import Annotated

import typer

from orchestration.cli import (
    alerts,
    doctor,
    explain,
    export,
    init,
    lemons,
    plan,
    pull,
    query,
    refresh,
    report,
    rollback,
    simulate,
    status,
    tables,
    ui,
)
from orchestration.cli.old_names import add_old_names
from orchestration.cli.options import run_app
from orchestration.settings.home import PAGES, code_version
from orchestration.terminal import output

app = typer.Typer(
    name="faultline",
    no_args_is_help=True,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="Turns the raw logs of a Slurm GPU cluster into a study of its reliability.",
    epilog=f"Documentation: {PAGES}" if PAGES.exists() else None,
)


def _show_version(is_asked: bool) -> None:
    if is_asked:
        output.say(f"faultline {code_version()}")
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
app.command(epilog=plan.EXAMPLES)(plan.plan)
app.command(epilog=lemons.EXAMPLES)(lemons.lemons)
app.command(epilog=explain.EXAMPLES)(explain.explain)
app.command(epilog=status.EXAMPLES)(status.status)
app.command(epilog=doctor.EXAMPLES)(doctor.doctor)
app.command(epilog=query.EXAMPLES)(query.query)
app.command(epilog=tables.EXAMPLES)(tables.tables)
app.command(epilog=report.EXAMPLES)(report.report)
app.command(epilog=export.EXAMPLES)(export.export)
app.command(epilog=simulate.EXAMPLES)(simulate.simulate)
app.command(epilog=alerts.EXAMPLES)(alerts.alerts)
app.command(epilog=rollback.EXAMPLES)(rollback.rollback)
app.command(epilog=ui.EXAMPLES)(ui.ui)
add_old_names(app)


def main() -> None:
    """Entry point of the console script."""
    run_app(app, "faultline")
