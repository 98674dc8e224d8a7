"""Ask Slurm, here or over ssh, for what `cluster.toml` needs to know. Nothing is changed there.

Where Slurm gives no answer, the file is written without it and a note says so. Only a host that was named and does not
answer is an error. Commands run in the host's own time zone, which is asked for: a pull asks in UTC
(orchestration/pull/host.py).
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import available_timezones

from orchestration.pull.host import SSH, SSH_FAILED, last_line
from orchestration.read_commands.published import ReadingError

SECONDS = 30
"""How long a command may take."""
CONFIG = ("scontrol", "show", "config")
NODES = ("scontrol", "-o", "show", "node")
ZONE = ("sh", "-c", 'echo "$TZ"; readlink -f /etc/localtime; cat /etc/timezone 2>/dev/null || true')

Run = Callable[[Sequence[str]], str | None]
"""Runs a command and returns what it prints, or None where it cannot be run or fails."""


@dataclass
class Facts:
    """What was found.

    Attributes
    ----------
    values
        Value and where it comes from, by section and key of `cluster.toml`.
    notes
        What else a person should know, one sentence each.
    """

    values: dict[tuple[str, str], tuple[Any, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def runner(ssh: str | None) -> Run:
    """Return what runs commands on this machine, or on a host.

    Raises
    ------
    ReadingError
        When a command is run: ssh does not reach the host.
    """

    def run(command: Sequence[str]) -> str | None:
        if ssh is None and shutil.which(command[0]) is None:
            return None
        words = list(command) if ssh is None else [*SSH, "--", ssh, shlex.join(command)]
        try:
            done = subprocess.run(  # noqa: S603 -- constants, and the host that the user named
                words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False,
                timeout=SECONDS,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            if ssh is not None:
                raise ReadingError(
                    f"{ssh} gave no answer ({error}); try `ssh {ssh} true`, or leave --ssh out"
                ) from None
            return None
        if ssh is not None and done.returncode == SSH_FAILED:
            said = last_line(done.stderr)
            raise ReadingError(f"ssh to {ssh} failed: {said}; make `ssh -o BatchMode=yes {ssh} true` work")
        return done.stdout if done.returncode == 0 else None

    return run


def ask(run: Run, cluster: str) -> Facts:
    """Ask for the configuration, the nodes and the time zone."""
    facts = Facts()
    config, nodes = run(CONFIG), run(NODES)
    if config is None and nodes is None:
        facts.notes.append("Slurm was not asked: scontrol is not there, or does not answer; --ssh HOST asks there")
    else:
        _take_config(facts, config or "", cluster)
        _take_nodes(facts, nodes or "")
        _take_zone(facts, run(ZONE) or "")
    return facts


def _take_config(facts: Facts, text: str, cluster: str) -> None:
    config = dict(re.findall(r"^(\w+)\s*= (.*?)\s*$", text, re.MULTILINE))
    name = config.get("ClusterName")
    if name and name != cluster:
        facts.notes.append(f"Slurm calls this cluster {name}; the folder's name is what Faultline calls it")
    if (timeout := re.match(r"(\d+) sec", config.get("SlurmdTimeout", ""))) is not None:
        seconds = int(timeout[1])
        when = f"SlurmdTimeout is {seconds} s: a dead node is declared down that long after it died"
        if seconds + 120 > 600:
            facts.values["attribution", "before_seconds"] = (seconds + 300, f"{when}, and evidence must reach back")
        else:
            facts.notes.append(f"{when}; [attribution] before_seconds covers it")
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
        if model := re.search(r"\bGres=gpu:([A-Za-z][^:\s(]*):\d+", line):
            models[model[1]] += 1
    if counts:
        ((usual, nodes),) = counts.most_common(1)
        facts.values["", "gpus_per_node"] = (usual, f"scontrol show node: {nodes} of {counts.total()} nodes with GPUs")
    if models:
        ((usual_model, nodes),) = models.most_common(1)
        facts.values["", "gpu_model"] = (usual_model, f"Gres of {nodes} nodes, as Slurm writes it")
    if len(counts) > 1 or len(models) > 1:
        facts.notes.append("nodes differ in their GPUs: exports of the inventory tell which node has what")


def _take_zone(facts: Facts, text: str) -> None:
    lines = [line.strip() for line in text.splitlines()]
    names = [line.partition("/zoneinfo/")[2] or line.removeprefix(":") for line in lines]
    zone = next((name for name in names if name in available_timezones()), None)
    if zone is not None:
        facts.values["", "timezone"] = (zone, "the time zone of the host that was asked")
