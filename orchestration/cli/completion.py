"""What Tab completes in the shell besides commands and options: clusters, tables and simulated profiles.

Each callback answers within a second and prints nothing; without an answer, nothing is completed. Nothing heavy is
imported. `faultline --install-completion` installs the completion.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import typer

from orchestration.settings.environment import WrongSetting, read_settings
from orchestration.settings.home import Home

CLUSTERS = "select cluster_id from marts.dim_clusters"


def complete_clusters(context: typer.Context, incomplete: str) -> list[str]:
    """List the clusters that are published or have a folder of logs, and begin with the typed text."""
    home = _home(context)
    if home is None:
        return []
    names = set(_published_clusters(home.published_file))
    with suppress(OSError):
        names |= {entry.name for entry in home.sources.iterdir() if entry.is_dir() and entry.name[0] != "."}
    return _beginning(names, incomplete)


def complete_tables(incomplete: str) -> list[str]:
    """List the tables by their full names; the typed text may begin the schema or the table's own name."""
    from orchestration.read_commands.catalogue import definitions

    names = definitions()
    return _beginning(names, incomplete) or sorted(
        name.split(".")[1] for name in names if name.split(".")[1].startswith(incomplete)
    )


def complete_profiles(incomplete: str) -> list[str]:
    """List the simulated profiles from their file, without loading the simulator."""
    file = files("assets") / "simulation" / "clusters" / "profiles.toml"
    return _beginning(tomllib.loads(file.read_text(encoding="utf-8")), incomplete)


def _published_clusters(file: Path) -> list[str]:
    import duckdb

    with suppress(duckdb.Error), duckdb.connect(str(file), read_only=True) as con:
        return [name for (name,) in con.execute(CLUSTERS).fetchall()]
    return []


def _home(context: typer.Context) -> Home | None:
    given = context.params.get("home"), context.params.get("sources")
    home, sources = (Path(path) if path else None for path in given)
    with suppress(WrongSetting):
        return read_settings(home, sources).home
    return None


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    # Leave out names that a terminal would act on or a shell would split.
    return sorted(name for name in names if name.startswith(incomplete) and name.isprintable() and " " not in name)
