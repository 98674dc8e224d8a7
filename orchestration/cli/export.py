"""`faultline export`: the published tables as Parquet or CSV, described in Croissant."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal

import typer

from orchestration.cli.completion import complete_tables
from orchestration.cli.options import HomeOption, JsonOption, answer, settings_of

EXAMPLES = """Examples:

Two tables: `faultline export /data/faultline --table fct_attempts --table est_failure_rates`

As CSV, with a license: `faultline export /data/csv --format csv --license CC-BY-4.0`

For the public, without names: `faultline export /data/open --public --cluster-name "GPU cluster A"`

With new names for two clusters: `faultline export /data/open --public --cluster-name red=A --cluster-name blue=B`
"""

_ADDRESS = re.compile(r"https?://[^\s/]\S*")
_SPDX = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+-]*")


def _address(text: str | None) -> str | None:
    """Check an address; return None for an empty one."""
    stated = (text or "").strip() or None
    if stated and not _ADDRESS.fullmatch(stated):
        raise typer.BadParameter("an address begins with https:// or http:// and has no blanks")
    return stated


def _license(text: str | None) -> str | None:
    """Return the address of a license, which may be given as an SPDX identifier."""
    stated = (text or "").strip()
    return f"https://spdx.org/licenses/{stated}" if _SPDX.fullmatch(stated) else _address(stated)


def export(
    folder: Annotated[
        Path, typer.Argument(help="Where to write SCHEMA/TABLE.parquet and croissant.json; replaces an earlier export.")
    ],
    table: Annotated[
        list[str] | None,
        typer.Option("--table", help="Only this table; can be repeated.", autocompletion=complete_tables),
    ] = None,
    *,
    is_public: Annotated[
        bool,
        typer.Option("--public", help="Leave out names and cells of fewer than five users; docs/privacy.md."),
    ] = False,
    cluster_name: Annotated[
        list[str] | None,
        typer.Option(
            "--cluster-name",
            help="With --public, the new name of a cluster: NAME, or OLD=NEW if there are several; can be repeated "
            "[default: cluster-1, cluster-2, ...].",
        ),
    ] = None,
    fmt: Annotated[Literal["parquet", "csv"], typer.Option("--format", help="Format of the files.")] = "parquet",
    license_url: Annotated[
        str | None,
        typer.Option(
            "--license",
            metavar="URL",
            help="The data's license, for croissant.json; or its SPDX identifier.",
            callback=_license,
        ),
    ] = None,
    creator: Annotated[
        str | None, typer.Option("--creator", metavar="NAME", help="The data's creator, for croissant.json.")
    ] = None,
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="The data's page, for croissant.json.", callback=_address)
    ] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write the published tables as Parquet or CSV, and describe every table, column and unit in Croissant 1.1."""
    from orchestration.read_commands import export as exporting
    from orchestration.read_commands.croissant import NOT_STATED, Owner

    if cluster_name and not is_public:
        raise typer.BadParameter("it needs --public", param_hint="--cluster-name")
    names = cluster_name or () if is_public else None
    owner = Owner(license_url or NOT_STATED.license, (creator or "").strip() or None, url)
    path = settings_of(home).home.published_file
    answer(
        lambda: exporting.export(path, folder, table or (), as_json, cluster_names=names, file_format=fmt, owner=owner),
        writes=True,
    )
