"""What each kind of missing evidence makes unknowable, and the command that collects it.

The commands write where `refresh` looks, with `SLURM_TIME_FORMAT=%s` where Slurm honours it: epoch seconds need no
time zone. `FOLDER` stands for the cluster's folder under sources, `START` for the first day wanted.
"""

from __future__ import annotations

from dataclasses import dataclass

SACCT = (
    "SLURM_TIME_FORMAT=%s sacct -a -D -X -P --noconvert --delimiter=$'\\x1f' -S START -o ALL > FOLDER/sacct/sacct.txt"
)
JOURNAL = "journalctl -k -o json --since=START > FOLDER/kernel/$(hostname -s).jsonl"


@dataclass(frozen=True)
class Gap:
    """One kind of evidence: its name, what is lost without it, how to get it."""

    name: str
    consequence: str
    command: str


BY_FLAG = {
    "has_health_checks": Gap(
        "Health checks",
        "A FAILED job can be told from a user's mistake only by kernel lines; of NODE_FAIL the cause often stays "
        "unknown. The failure rate is a lower bound.",
        "health_checks CHECK … --sink file -o file_path=FOLDER/health/$(hostname -s).jsonl",
    ),
    "has_kernel_messages": Gap(
        "Kernel messages",
        "No XID, no memory, PCIe or link error is seen: GPU faults show only if a health check caught them. "
        "Lost with it: distinct XIDs per node.",
        JOURNAL,
    ),
    "has_node_events": Gap(
        "Node events",
        "When nodes were out of service is unknown, and planned work cannot be told from faults. "
        "Outages stay in the denominator of the allocated GPU time, which looks lower than it was.",
        "SLURM_TIME_FORMAT=%s sacctmgr -P show event start=START "
        "format=Cluster,NodeName,TimeStart,TimeEnd,State,StateRaw,Reason,User,Event > FOLDER/events/events.psv",
    ),
    "has_slurmctld_log": Gap(
        "slurmctld.log",
        "Who preempted whom is inferred, never named; which node of a job failed is known only if other evidence says "
        "so; when a drain was requested is unknown.",
        "cp /var/log/slurm/slurmctld.log* FOLDER/slurmctld/",
    ),
    "has_inventory": Gap(
        "Inventory",
        "Nodes that never ran a job are not seen, GPU counts rest on the configured GPUs per node, and names in other "
        "logs cannot be checked against the list of nodes.",
        "SLURM_TIME_FORMAT=%s scontrol -o show node > FOLDER/inventory/nodes.txt",
    ),
    "has_tickets": Gap(
        "Repair tickets",
        "Whether a node was repaired, and which part was exchanged, is unknown; repeat offenders cannot be told from "
        "repaired nodes.",
        "export CSV from the ticket system to FOLDER/tickets/, columns mapped under [tickets] in cluster.toml",
    ),
    "has_exclusions": Gap(
        "Excluded nodes",
        "Which nodes users avoid is unknown: the earliest sign of a bad node is missing.",
        "squeue -a -r -h -o '%A|%i|%T|%V|%S|%u|%P|%D|%N|%x|%r' > FOLDER/squeue/squeue.$(date +%s).txt  "
        "# every 5 minutes",
    ),
}

BY_WARNING = {
    "exported_without_duplicates": Gap(
        "Accounting exported without --duplicates",
        "Jobs were requeued (Restarts, slurmctld.log), and their attempts before are not in the export. Only the last "
        "record of each job is there: nearly every NODE_FAIL, REQUEUED and PREEMPTED attempt is missing, "
        "and the failure rate is far too low.",
        SACCT,
    ),
    "truncated_window": Gap(
        "Accounting cut at its start (sacct -T)",
        "Attempts that ran across the start of the export begin with it: runtime, and so exposure, is too short.",
        SACCT,
    ),
    "other_cluster": Gap(
        "Records of another cluster",
        "The file names another cluster than its folder does: two machines may be mixed up here.",
        "put each cluster's exports into its own folder under sources",
    ),
    "end_missing": Gap(
        "Final state without an end",
        "The runtime of these attempts is unknown: they add to no exposure.",
        SACCT,
    ),
    "runaway_suspect": Gap(
        "RUNNING for longer than allowed",
        "Slurm has lost sight of these jobs; when they ended is unknown, and they add to no exposure.",
        "sacctmgr show runawayjobs",
    ),
    "elapsed_mismatch": Gap(
        "Start, end and elapsed time disagree",
        "The shorter of the two runtimes is taken.",
        SACCT,
    ),
    "truncated_value": Gap(
        "Values cut off",
        "A field was printed narrower than its value: names or node lists may be incomplete.",
        SACCT,
    ),
    "dup_column_conflict": Gap(
        "One column twice, with different values",
        "The first of the two is taken.",
        SACCT,
    ),
    "bad_encoding": Gap(
        "Bytes that are no UTF-8",
        "They are replaced; names that hold them may look damaged.",
        "export with LC_ALL=C.UTF-8",
    ),
}

NO_GPU_COUNTS = Gap(
    "GPU counts of attempts",
    "Attempts whose GPUs are unknown count among the states, but in no GPU time, no size and no rate.",
    "AccountingStorageTRES=gres/gpu in slurm.conf, and AllocTRES in the sacct export (-o ALL)",
)

NO_USERS = Gap(
    "User names of attempts",
    "Losses of these attempts cannot be put to a user or account.",
    "sacct -a … -o ALL, run as a user who may see all jobs",
)
