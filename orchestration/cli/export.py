"""`faultline export`: the published tables as Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestration.cli.completion import complete_tables
from orchestration.cli.options import HomeOption, JsonOption, answer, settings_of

EXAMPLES = """Examples:

Two tables: `faultline export /data/faultline --table fct_attempts --table est_failure_rates`

What may leave the house, without names: `faultline export /data/open --public --cluster-name "GPU cluster A"`

Names for two of several clusters: `faultline export /data/open --public --cluster-name red=A --cluster-name blue=B`
"""


def export(  # noqa: PLR0917
    folder: Annotated[Path, typer.Argument(help="Where to write FOLDER/SCHEMA/TABLE.parquet.")],
    table: Annotated[
        list[str] | None,
        typer.Option("--table", help="Only this table; can be repeated.", autocompletion=complete_tables),
    ] = None,
    is_public: Annotated[
        bool,
        typer.Option("--public", help="Leave out names and cells of fewer than five users; `faultline docs privacy`."),
    ] = False,
    cluster_name: Annotated[
        list[str] | None,
        typer.Option(
            "--cluster-name",
            help="With --public, what a cluster is called: NAME, or OLD=NEW where there are several; can be repeated "
            "[default: cluster-1, cluster-2, ...].",
        ),
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the published tables as Parquet, each with its description, its run and what its columns mean."""
    from orchestration.read_commands import export as exporting

    if cluster_name and not is_public:
        raise typer.BadParameter("it needs --public", param_hint="--cluster-name")
    names = cluster_name or () if is_public else None
    answer(
        lambda: exporting.export(settings_of(home).home.published_file, folder, table or (), as_json, names),
        writes=True,
    )
