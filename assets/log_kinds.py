"""The kinds of logs: what each holds, the command that exports it, and what is unknown without it.

The readers' refusals, the doctor, the report and docs/logs.md take their words from here. Times are exported as epoch
seconds (`SLURM_TIME_FORMAT=%s`) where Slurm honours it: they need no time zone.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Weight = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Gap:
    """One kind of evidence that is missing or bad: its name, what is lost, and the step that fixes it."""

    name: str
    consequence: str
    step: str
    """Commands in it stand between backticks."""

    @property
    def command(self) -> str:
        """Return the step as a terminal shows it."""
        return "".join(parts_of(self.step))


@dataclass(frozen=True)
class LogKind:
    """One kind of logs: a folder below the cluster's."""

    name: str
    """Name of the evidence that the log gives."""
    contents: str
    """What the folder holds: output of programs, and files."""
    step: str
    """How to export it; FOLDER stands for the folder of the kind, START for the first day wanted."""
    unknown_without: str
    weight: Weight
    """How serious it is when the log is missing."""
    flag: str = ""
    """Column of `dim_clusters` that says whether there is such evidence."""
    is_continuous: bool = True
    """Whether the log is written all the time, so that gaps in it matter; node events come with outages only."""
    warnings: dict[str, Gap] = field(default_factory=dict)
    """What readers may find about a whole file (`ops.files.warnings`)."""

    @property
    def export(self) -> str:
        """Return the step as a terminal shows it."""
        return self.export_to()

    def export_to(self, folder: object = "FOLDER", start: str = "START") -> str:
        """Return the step for a folder and a first day."""
        return "".join(parts_of(self.step, folder, start))


def parts_of(step: str, folder: object = "FOLDER", start: str = "START") -> tuple[str, ...]:
    """Split a step into alternating prose and commands; the name of the folder is quoted for the shell.

    >>> parts_of("on every node: `dmesg > FOLDER/log`, or copy it", "/my logs")
    ('on every node: ', "dmesg > '/my logs'/log", ', or copy it')
    """
    named = {"FOLDER": shlex.quote(str(folder)), "START": start}
    return tuple(re.sub("FOLDER|START", lambda found: named[found[0]], part) for part in step.split("`"))


START = "$(date -d '90 days ago' +%F)"
"""The first day of a first pull, in bash: for commands that export logs that were never read."""
SILENT_DAYS = 3.0
"""A continuous log that ends this many days before the end of the study period counts as silent."""
EPOCH_TIMES = "SLURM_TIME_FORMAT=%s"
DELIMITER = "\x1f"
"""Separates the columns of accounting: names, comments and submit lines may hold any printable character."""
SACCT = ("sacct", "-a", "-D", "-X", "-P", "--noconvert", f"--delimiter={DELIMITER}")
NODE_EVENTS = ("sacctmgr", "-P", "show", "event")
EVENT_COLUMNS = ("Cluster", "NodeName", "TimeStart", "TimeEnd", "State", "StateRaw", "Reason", "User", "Event")
NODES = ("scontrol", "-o", "show", "node")
QUEUE = ("squeue", "-a", "-r", "-h", "-o", "%A|%i|%T|%V|%S|%u|%P|%D|%N|%x|%r")


def in_shell(words: Sequence[str]) -> str:
    r"""Return a command as a user types it into bash.

    >>> print(in_shell(("sacct", "--delimiter=\x1f", "-o", "%A|%x")))
    sacct --delimiter=$'\x1f' -o '%A|%x'
    """
    return " ".join(_typed(word) for word in words)


def _typed(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    name, sign, value = word.rpartition("=")
    escaped = "".join(
        character if character.isprintable() and character not in "'\\" else f"\\x{ord(character):02x}"
        for character in value
    )
    return f"{shlex.quote(name) if name else ''}{sign}$'{escaped}'"


_SACCT = f"`{EPOCH_TIMES} {in_shell(SACCT)} -S START -o ALL > FOLDER/sacct.$(date +%F).txt`"

LOG_KINDS = {
    "sacct": LogKind(
        "Accounting",
        "`sacct -P`: any columns, order and delimiter; other forms: docs/logs.md",
        _SACCT,
        "Without accounting, nothing is known of a cluster but the failures that failures/ records.",
        "error",
        "has_accounting",
        warnings={
            "exported_without_duplicates": Gap(
                "Accounting exported without --duplicates",
                "Jobs were requeued (Restarts, slurmctld.log), and their earlier attempts are not in the export. It "
                "has only the last record of each job: nearly every NODE_FAIL, REQUEUED and PREEMPTED attempt is "
                "missing, and the failure rate is far too low.",
                _SACCT,
            ),
            "overlaps_no_accounting": Gap(
                "A log of a time without accounting",
                "No job of its time is known, so it explains no failure. Either accounting of that time is missing, or "
                "the log's lines have no year and its file has a misleading date.",
                f"{_SACCT}; of lines without a year, copy the log with its time (cp -p, rsync -a)",
            ),
            "truncated_window": Gap(
                "Accounting cut at its start (sacct -T)",
                "Attempts that ran across the start of the export begin with it: runtime, and so exposure, is too "
                "short, unless an export whose window ends there shows the rest.",
                _SACCT,
            ),
            "other_cluster": Gap(
                "Records of another cluster",
                "The rows and the folder name different clusters: records of two clusters may be mixed here.",
                'if both are one cluster, put slurm_cluster = "NAME" at the top of cluster.toml, with the name in the '
                "rows, or rename the folder; else put each cluster's exports into a folder of its own under sources",
            ),
            "unknown_excluded_nodes": Gap(
                "Excluded nodes that are unknown",
                "Submit lines exclude nodes that neither accounting nor the inventory names, such as drained nodes. "
                "These exclusions count for no node.",
                "add the inventory of all nodes; if it is another spelling, set aliases under [nodes] in cluster.toml",
            ),
            "end_missing": Gap(
                "Final state without an end",
                "The runtime of these attempts is unknown: they add to no exposure.",
                _SACCT,
            ),
            "runaway_suspect": Gap(
                "RUNNING for longer than allowed",
                "Slurm has lost sight of these jobs; when they ended is unknown, and they add to no exposure.",
                "`sacctmgr show runawayjobs`",
            ),
            "elapsed_mismatch": Gap(
                "Start, end and elapsed time disagree",
                "The shorter of the two runtimes is taken.",
                _SACCT,
            ),
            "truncated_value": Gap(
                "Values cut off",
                "A field was printed narrower than its value: names or node lists may be incomplete.",
                _SACCT,
            ),
            "unreadable_summary": Gap(
                "Summaries of jobstats that cannot be read",
                "The GPU utilisation of these jobs is unknown.",
                "export AdminComment in its full width, with sacct -P",
            ),
            "dup_column_conflict": Gap(
                "One column twice, with different values",
                "The first of the two is taken.",
                _SACCT,
            ),
            "bad_encoding": Gap(
                "Bytes that are no UTF-8",
                "They are replaced; names that hold them may look damaged.",
                "export with LC_ALL=C.UTF-8",
            ),
        },
    ),
    "health": LogKind(
        "Health checks",
        "records of GCM's `health_checks`, any of its sinks; nhc.log; other forms: docs/logs.md",
        "on every node: `health_checks CHECK ... --sink=file --sink-opts file_path=FOLDER/$(hostname -s).jsonl`, "
        "or copy its nhc.log",
        "Only kernel messages distinguish a FAILED job from a user's mistake; the cause of NODE_FAIL often stays "
        "unknown. The failure rate is a lower bound.",
        "warning",
        "has_health_checks",
    ),
    "kernel": LogKind(
        "Kernel messages",
        "syslog, kern.log, `journalctl -k`, dmesg: Xid, links, ECC, mounts; other forms: docs/logs.md",
        "on every node: `journalctl -k -o json --since=START > FOLDER/$(hostname -s).$(date +%F).jsonl`",
        "No Xid, no memory, PCIe or link error is seen: GPU faults show only if a health check caught them. Lost with "
        "it: distinct Xids per node.",
        "warning",
        "has_kernel_messages",
    ),
    "events": LogKind(
        "Node events",
        "`sacctmgr -P show event`",
        f"`{EPOCH_TIMES} {in_shell(NODE_EVENTS)} start=START format={','.join(EVENT_COLUMNS)} "
        "> FOLDER/events.$(date +%F).psv`",
        "When nodes were out of service, and for how many hours, is unknown, and planned work looks like "
        "faults. Outages stay in the denominator of the allocated GPU time, which looks lower than it was.",
        "warning",
        "has_node_events",
        is_continuous=False,
    ),
    "slurmctld": LogKind(
        "slurmctld.log",
        "`slurmctld.log`",
        "`cp /var/log/slurm/slurmctld.log* FOLDER/`",
        "Who preempted whom is inferred, never named; which node of a job failed is known only if other evidence says "
        "so; when a drain was requested is unknown.",
        "note",
        "has_slurmctld_log",
        warnings={
            "ambiguous_dst": Gap(
                "Times in the hour that comes twice",
                "When summer time ends, an hour of local time comes twice. The order of the lines does not show which "
                "pass these belong to. The first is assumed, so they may be an hour early.",
                "write times with their offset, as slurmctld does with LogTimeFormat=rfc5424_ms in slurm.conf",
            ),
        },
    ),
    "inventory": LogKind(
        "Inventory",
        "`scontrol show node`; other forms: docs/logs.md",
        f"`{EPOCH_TIMES} {in_shell(NODES)} > FOLDER/nodes.$(date +%F).txt`",
        "Nodes that never ran a job are not seen, GPU counts rest on the configured GPUs per node, and names in other "
        "logs cannot be checked against the list of nodes.",
        "note",
        "has_inventory",
        is_continuous=False,
        warnings={
            "impossible_gpu_count": Gap(
                "Nodes with more GPUs than any machine has",
                "How many GPUs these nodes have is taken as unknown.",
                "look for their Gres in slurm.conf",
            ),
        },
    ),
    "squeue": LogKind(
        "Excluded nodes",
        "`squeue` with the excluded nodes (%x), or records of GCM's `slurm_job_monitor`",
        f"every 5 minutes: `{EPOCH_TIMES} {in_shell(QUEUE)} > FOLDER/squeue.$(date +%s).txt`",
        "Which nodes users avoid is known from submit lines only, or unknown: the earliest sign of a bad node is "
        "missing.",
        "note",
        "has_exclusions",
    ),
    "tickets": LogKind(
        "Repair tickets",
        "CSV, columns mapped in cluster.toml",
        "export CSV from the ticket system to FOLDER/, columns mapped under [tickets] in cluster.toml",
        "Whether a node was repaired, and which part was exchanged, is unknown; repeat offenders look like "
        "repaired nodes.",
        "note",
        "has_tickets",
        is_continuous=False,
    ),
    "failures": LogKind(
        "Records of failures",
        "CSV of failures and repairs of nodes or other units, columns mapped in cluster.toml",
        "export CSV from the site's list of failures to FOLDER/, columns mapped under [failures] in cluster.toml",
        "What the site itself recorded of failures and repairs is unknown.",
        "note",
        is_continuous=False,
    ),
}
"""Kinds of logs by the name of their folder."""

IN_SERVICE = Gap(
    "Time in service",
    "How often units fail, and for what share of their time they are down, is unknown: no record lists what never "
    "failed.",
    "put units, from and to under [[failures.in_service]] in cluster.toml",
)
"""For units whose failures are recorded."""

WARNINGS = {
    warning: Gap(gap.name, gap.consequence, gap.step.replace("FOLDER", f"FOLDER/{folder}"))
    for folder, kind in LOG_KINDS.items()
    for warning, gap in kind.warnings.items()
}
"""Warnings by the reader's name for them; FOLDER stands for the cluster's folder."""


def export_again(folder: str) -> str:
    """Return the next step for a file that cannot be read."""
    return f"Export again: {LOG_KINDS[folder].export}"


def missing(folder: str) -> Gap:
    """Return what is unknown without a kind of logs; FOLDER stands for the cluster's folder."""
    kind = LOG_KINDS[folder]
    return Gap(kind.name, kind.unknown_without, kind.step.replace("FOLDER", f"FOLDER/{folder}"))
