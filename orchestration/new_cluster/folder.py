"""Make a cluster's folder with a folder for each kind of log and a `cluster.toml`. Nothing that exists is changed.

The file is this package's `cluster.toml` with keys set from Slurm's answers, asked here or over ssh. Without an answer
the file is written without these keys, and a note says so. Only a named host that does not answer is an error.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any
from zoneinfo import available_timezones

from assets.log_kinds import LOG_KINDS
from assets.sources.settings import Pull, Settings
from assets.sources.settings.described import toml_value
from orchestration.pull.host import Host, HostUnreachable, PullFailed
from orchestration.read_commands.published import ReadingError
from orchestration.terminal.output import visible
from orchestration.upkeep.permissions import WRITE_OF_OTHERS, private_files

SECONDS = 30
"""How long a command may take."""
CONFIG = ("scontrol", "show", "config")
NODES = ("scontrol", "-o", "show", "node")
ZONE = ("/bin/sh", "-c", "readlink -f /etc/localtime; cat /etc/timezone 2>/dev/null || true")


@dataclass
class Facts:
    """What Slurm's answers contain."""

    values: dict[tuple[str, str], tuple[Any, str]] = field(default_factory=dict)
    """Value and its origin, by section and key of `cluster.toml`."""
    notes: list[str] = field(default_factory=list)
    """Further notes for people, one sentence each."""


def make_cluster(sources: Path, cluster: str, ssh: str | None) -> list[str]:
    """Write the folder, and return what was written and the next steps, line by line.

    Raise `ReadingError` if the name is not allowed, the file exists already, or it cannot be written.
    """
    folder = sources / cluster
    file = folder / "cluster.toml"
    _require_name(cluster)
    if file.exists() or file.is_symlink():
        raise ReadingError(f"{file} exists and is left as it is; --print shows what would be written")
    facts = ask(cluster, ssh)
    try:
        # A file that others may write is not obeyed later.
        with private_files(WRITE_OF_OTHERS):
            for kind in LOG_KINDS:
                (folder / kind).mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as out:
                out.write(cluster_toml(facts))
    except OSError as error:
        raise ReadingError(f"{error.filename or folder} cannot be written ({error.strerror})") from None
    return [
        f"wrote {file}",
        *(f"  {key} = {value}  ({source})" for (_, key), (value, source) in facts.values.items()),
        *(f"  note: {note}" for note in facts.notes),
        "next: fetch what Slurm knows, and refresh:",
        f"  faultline pull {shlex.quote(cluster)}{f' --ssh {shlex.quote(ssh)}' if ssh else ''}",
        "  faultline refresh",
        f"  every refresh fetches first once cluster.toml has [pull]{f' with ssh = {json.dumps(ssh)}' if ssh else ''}",
        "then `faultline doctor` says what is missing or wrong, with the commands that export it",
    ]


def show_file(cluster: str, ssh: str | None) -> str:
    """Return the file that would be written."""
    _require_name(cluster)
    return cluster_toml(ask(cluster, ssh))


def _require_name(cluster: str) -> None:
    """Raise `ReadingError` unless a folder may have this name and a refresh would read it."""
    if not cluster.isprintable() or "/" in cluster or cluster.startswith(".") or not cluster.strip() == cluster != "":
        raise ReadingError(
            f"{cluster!r} cannot be a cluster's folder: take a name without slashes and blanks around it that does not "
            "begin with a point"
        )


def cluster_toml(facts: Facts) -> str:
    """Return the text of a new file.

    In the template, a line that begins with `#` and no blank is a key that is not set.
    """
    text = files(__package__).joinpath("cluster.toml").read_text(encoding="utf-8")
    for (section, key), (value, source) in facts.values.items():
        found = f"# Found: {visible(source)}.\n{key} = {toml_value(value)}"
        text = text.replace(f"#[{section}]\n", f"[{section}]\n")
        text = re.sub(rf"^#{key} = .*$", found.replace("\\", r"\\"), text, flags=re.MULTILINE)
    return "".join(f"# Note: {visible(note)}.\n" for note in facts.notes) + text


def ask(cluster: str, ssh: str | None) -> Facts:
    """Ask for the configuration, the nodes and the time zone; raise `ReadingError` if ssh does not reach the host."""
    host, facts = Host(Pull(ssh=ssh, timeout_seconds=SECONDS)), Facts()
    config, nodes, zone = (_answer(host, command) for command in (CONFIG, NODES, ZONE))
    if not config and not nodes:
        facts.notes.append("Slurm was not asked: scontrol is missing, or does not answer; --ssh HOST asks on a host")
        return facts
    _take_config(facts, dict(re.findall(r"^(\w+)\s*= (.*?)\s*$", config, re.MULTILINE)), cluster)
    _take_nodes(facts, nodes)
    names = [line.strip().rpartition("/zoneinfo/")[2] for line in zone.splitlines()]
    if known := [name for name in names if name in available_timezones()]:
        facts.values["", "timezone"] = (known[0], "the time zone of the host that was asked")
    return facts


def _answer(host: Host, command: tuple[str, ...]) -> str:
    try:
        return host.text_of(command)
    except HostUnreachable as error:
        raise ReadingError(str(error)) from None
    except PullFailed:
        return ""


def _take_config(facts: Facts, config: dict[str, str], cluster: str) -> None:
    name = config.get("ClusterName")
    if name and name != cluster:
        facts.notes.append(f"Slurm calls this cluster {name}; the folder's name is what Faultline calls it")
    if (timeout := re.match(r"(\d+) sec", config.get("SlurmdTimeout", ""))) is not None:
        seconds = int(timeout[1])
        if seconds + 120 > Settings().attribution.before_seconds:
            facts.values["attribution", "before_seconds"] = (seconds + 300, f"SlurmdTimeout is {seconds} s")
    if (mode := config.get("PreemptMode", "OFF")) != "OFF":
        facts.notes.append(f"PreemptMode is {mode}: only slurmctld.log names the job for which another was preempted")
    if config.get("AccountingStorageTRES") and "gres/gpu" not in config["AccountingStorageTRES"]:
        facts.notes.append("AccountingStorageTRES lacks gres/gpu: accounting will not know how many GPUs a job had")


def _take_nodes(facts: Facts, text: str) -> None:
    counts: Counter[int] = Counter()
    models: Counter[str] = Counter()
    for line in text.splitlines():
        known = re.search(r"\bCfgTRES=\S*?\bgres/gpu=(\d+)", line) or re.search(r"\bGres=gpu(?::[^:\s(]+)?:(\d+)", line)
        if known is None or not int(known[1]):
            continue
        counts[int(known[1])] += 1
        models.update(re.findall(r"\bGres=gpu:([A-Za-z][^:\s(]*):\d+", line)[:1])
    if counts:
        ((usual, nodes),) = counts.most_common(1)
        facts.values["", "gpus_per_node"] = (usual, f"scontrol show node: {nodes} of {counts.total()} nodes with GPUs")
    if models:
        ((usual_model, nodes),) = models.most_common(1)
        facts.values["", "gpu_model"] = (usual_model, f"Gres of {nodes} nodes, as Slurm writes it")
    if len(counts) > 1 or len(models) > 1:
        facts.notes.append("nodes differ in their GPUs: exports of the inventory show which node has what")
