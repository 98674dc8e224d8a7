"""Make a cluster's folder with a folder for each kind of log and a `cluster.toml`. Nothing that exists is changed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

from assets.log_kinds import LOG_KINDS, START
from orchestration.new_cluster.slurm_facts import Facts, ask, runner
from orchestration.new_cluster.text import cluster_toml
from orchestration.read_commands.published import ReadingError
from orchestration.upkeep.permissions import WRITE_OF_OTHERS, private_files


def require_name(cluster: str) -> None:
    """Raise `ReadingError` unless a folder may have this name and a refresh would read it."""
    if not cluster.isprintable() or "/" in cluster or cluster.startswith(".") or not cluster.strip() == cluster != "":
        raise ReadingError(
            f"{cluster!r} cannot be a cluster's folder: take a name without slashes and blanks around it that does not "
            "begin with a point"
        )


def show_file(cluster: str, ssh: str | None) -> str:
    """Return the file that would be written."""
    require_name(cluster)
    return cluster_toml(cluster, ask(runner(ssh), cluster))


def make_cluster(sources: Path, cluster: str, ssh: str | None) -> list[str]:
    """Write the folder, and return what was made and the next steps, line by line.

    Raises
    ------
    ReadingError
        The name cannot be a folder's, there is such a file already, or it cannot be written.
    """
    require_name(cluster)
    folder = sources / cluster
    file = folder / "cluster.toml"
    if file.exists() or file.is_symlink():
        raise ReadingError(f"{file} exists and is left as it is; --print shows what would be written")
    facts = ask(runner(ssh), cluster)
    try:
        # What others may write is not obeyed later.
        with private_files(WRITE_OF_OTHERS):
            for kind in LOG_KINDS:
                (folder / kind).mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as out:
                out.write(cluster_toml(cluster, facts))
    except OSError as error:
        raise ReadingError(f"{error.filename or folder} cannot be written ({error.strerror})") from None
    return [f"wrote {file}", *_summary(facts), "", *_next_steps(folder, cluster, ssh)]


def _summary(facts: Facts) -> list[str]:
    found = [
        f"  {f'[{path}] ' if path else ''}{key} = {value}  ({source})"
        for (path, key), (value, source) in facts.values.items()
    ]
    return [*found, *(f"  note: {note}" for note in facts.notes)]


def _next_steps(folder: Path, cluster: str, ssh: str | None) -> list[str]:
    host = f" --ssh {shlex.quote(ssh)}" if ssh else ""
    table = f"[pull] with ssh = {json.dumps(ssh)}" if ssh else "[pull]"
    logs = [f"  {kind.name}: {kind.export_to(folder / name, START)}" for name, kind in LOG_KINDS.items()]
    return [
        "next: fetch what Slurm knows, and refresh:",
        f"  faultline pull {shlex.quote(cluster)}{host}",
        "  faultline refresh",
        f"  every refresh fetches first once cluster.toml has {table}",
        "or export the logs yourself, and what Slurm does not have (accounting is required, the rest adds evidence):",
        *logs,
        "then `faultline doctor` says what is missing or wrong",
    ]
