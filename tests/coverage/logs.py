"""The files of a cluster's folder, in the forms of real sites."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from tests.coverage.checks import SECONDS_OF_RUN, KernelLine, Result
from tests.coverage.happenings import Attempt, Happenings, Job, Withdrawal, node_name
from tests.logs import EVENT_COLUMNS, result_line, slurmctld_line

GCM_CHECKS = {
    "gpu_unavailable": ("nvidia smi gpu_num", "Number of GPUs present, 7, is different than expected, 8"),
    "gpu_memory": ("nvidia smi ecc_uncorrected", "uncorrectable volatile memory errors on GPU 3: 2"),
    "gpu_nvlink": ("check dcgmi nvlink status", "NvLink 4 of GPU 2 is down"),
    "ib_link": ("check ibstat", "mlx5_3 is Down, physical state Polling"),
    "pcie": ("check pci", "0000:9b:00.0 has width x8, expected x16"),
    "filesystem_mount": ("check mountpoint", "/scratch is not mounted"),
}
NHC_CHECKS = {
    "gpu_unavailable": "check_gpu_count:  7 of 8 GPUs found",
    "gpu_memory": "check_gpu_ecc:  uncorrectable ECC errors on GPU 3",
    "gpu_nvlink": "check_nvlink_status:  link 4 of GPU 2 is inactive",
    "ib_link": "check_hw_ib:  No IB port mlx5_3:1 is ACTIVE (LinkUp 400 Gb/sec).",
    "pcie": "check_gpu_bw:  bandwidth is low on device 5",
    "filesystem_mount": "check_fs_mount:  /scratch not mounted",
}
KERNEL_MESSAGES = {
    "gpu_unavailable": "NVRM: Xid (PCI:0000:9b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    "gpu_memory": "NVRM: Xid (PCI:0000:17:00): 95, pid=9, name=python, Uncontained: LTC. RST: Yes, D-RST: No",
    "gpu_nvlink": "NVRM: Xid (PCI:0000:3d:00): 74, pid='<unknown>', name=<unknown>, NVLink: fatal error on link 4",
    "ib_link": "mlx5_core 0000:c1:00.0 ib3: Link down",
    "pcie": "pcieport 0000:97:01.0: AER: Uncorrected (Fatal) error received: 0000:98:00.0",
    "filesystem_mount": "nfs: server store01 not responding, timed out",
    "user": "NVRM: Xid (PCI:0000:17:00): 31, pid=71, name=python, Ch 00000008, intr 00000000. MMU Fault",
}
REASONS = {
    "down": "Not responding",
    "maintenance": "planned maintenance: firmware",
}


class _Clock:
    """Names of nodes and moments as a site writes them."""

    def __init__(self, happenings: Happenings) -> None:
        self.site, self.zone = happenings.site, ZoneInfo(happenings.site.timezone)

    def node(self, node: int) -> str:
        return node_name(self.site, node)

    def local(self, at: float) -> datetime:
        return datetime.fromtimestamp(at, self.zone)

    def slurm(self, at: float) -> str:
        return str(int(at)) if self.site.is_epoch else f"{self.local(int(at)):%Y-%m-%dT%H:%M:%S}"


def write_logs(folder: Path, happenings: Happenings, results: list[Result], lines: list[KernelLine]) -> None:
    """Write a cluster's folder."""
    site, clock = happenings.site, _Clock(happenings)
    folder.mkdir(parents=True)
    settings = [f'timezone = "{site.timezone}"'] if site.timezone != "UTC" else []
    settings += [f"gpus_per_node = {site.gpus_per_node}"] if site.gpus_per_node != 8 else []
    if settings:
        (folder / "cluster.toml").write_text("\n".join(settings) + "\n")
    files = {"sacct/sacct.psv": _accounting(happenings, clock), "inventory/nodes.txt": _inventory(clock)}
    if site.health == "gcm":
        files["health/health_checks.jsonl"] = _gcm(clock, results)
    if site.health == "nhc":
        files[f"health/nhc-{clock.local(happenings.last):%Y%m%d}.log"] = _nhc(clock, results)
    if lines:
        files["kernel/kernel.log"] = _kernel(happenings, clock, lines)
    if site.outages == "events":
        files["events/events.psv"] = _events(happenings, clock)
    if site.outages == "slurmctld":
        files["slurmctld/slurmctld.log"] = _slurmctld(happenings, clock)
    for name, rows in files.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("\n".join(rows) + "\n")


def is_exported(attempt: Attempt, happenings: Happenings) -> bool:
    """Return whether the attempt overlaps the export, as with `sacct -S -E`."""
    return attempt.ended >= happenings.first and attempt.started < happenings.last


FIELDS = (
    "JobID|JobIDRaw|Cluster|User|Account|Partition|QOS|JobName|Submit|Eligible|Start|End|ElapsedRaw|State|ExitCode|"
    "NNodes|AllocNodes|NodeList|AllocTRES"
)


def _accounting(happenings: Happenings, clock: _Clock) -> list[str]:
    rows = [FIELDS]
    for attempt in sorted(happenings.attempts, key=lambda attempt: (attempt.started, attempt.job.number)):
        if not is_exported(attempt, happenings):
            continue
        job, is_running = attempt.job, attempt.ended >= happenings.last
        end = happenings.last if is_running else attempt.ended
        state, submitted = "RUNNING" if is_running else attempt.state, clock.slurm(attempt.submitted)
        times = [submitted, submitted, clock.slurm(attempt.started), "Unknown" if is_running else clock.slurm(end)]
        how = [str(int(end) - int(attempt.started)), state, "1:0" if state == "FAILED" else "0:0"]
        where = [str(job.node_count), str(job.node_count), ",".join(clock.node(node) for node in attempt.nodes)]
        held = f"billing={job.gpus},cpu={8 * job.gpus},gres/gpu={job.gpus},node={job.node_count}"
        rows.append("|".join([*_names(job, clock.site.name), *times, *how, *where, held]))
    for job in happenings.pending:
        if job.submitted < happenings.last:
            submitted = clock.slurm(job.submitted)
            times = [submitted, submitted, "Unknown", "Unknown", "0", "PENDING", "0:0", str(job.node_count)]
            rows.append("|".join([*_names(job, clock.site.name), *times, "0", "None assigned", ""]))
    return rows


def _names(job: Job, cluster: str) -> list[str]:
    return [str(job.number), str(job.number), cluster, job.user, "lab", "gpu", "normal", f"train{job.number}"]


def _inventory(clock: _Clock) -> list[str]:
    gpus = clock.site.gpus_per_node
    return [
        f"NodeName={clock.node(node)} CPUTot=64 Gres=gpu:{gpus} State=IDLE "
        f"CfgTRES=cpu=64,mem=900G,gres/gpu={gpus} Partitions=gpu"
        for node in range(clock.site.node_count)
    ]


def _gcm(clock: _Clock, results: list[Result]) -> list[str]:
    names = {"cluster": clock.site.name, "derived_cluster": clock.site.name}
    rows = []
    for result in results:
        check, message = GCM_CHECKS[result.category]
        code, said = (2, message) if result.is_failure else (0, "ok")
        start, end = round(result.at, 3), round(result.at + SECONDS_OF_RUN, 3)
        rows.append(result_line(clock.node(result.node), end, check, code, said, started=start, **names))
    return rows


def _nhc(clock: _Clock, results: list[Result]) -> list[str]:
    return [
        f"{clock.local(result.at):%b %e %H:%M:%S} {clock.node(result.node)} nhc[{4000 + result.node}]: "
        f"Health check failed:  {NHC_CHECKS[result.category]}"
        for result in results
        if result.is_failure
    ]


def _kernel(happenings: Happenings, clock: _Clock, lines: list[KernelLine]) -> list[str]:
    return [
        f"{clock.local(line.at).isoformat(timespec='milliseconds')} {clock.node(line.node)} "
        f"kernel: [{line.at - happenings.first:.3f}] {KERNEL_MESSAGES[line.category]}"
        for line in lines
    ]


def _reason(out: Withdrawal) -> str:
    """Return the reason of a node that is taken out of service."""
    return REASONS.get(out.kind) or "HC: " + NHC_CHECKS[out.category].split(":")[0]


def _events(happenings: Happenings, clock: _Clock) -> list[str]:
    rows = ["|".join(EVENT_COLUMNS)]
    for out in sorted(happenings.withdrawals, key=lambda out: (out.start, out.node)):
        if out.start < happenings.last and out.end > happenings.first:
            end = "Unknown" if out.end >= happenings.last else clock.slurm(out.end)
            state = "DOWN" if out.kind == "down" else "DRAIN"
            start, node = clock.slurm(out.start + 60), clock.node(out.node)
            rows.append(f"{clock.site.name}|{node}|{start}|{end}|{state}|{_reason(out)}|root(0)")
    return rows


def _slurmctld(happenings: Happenings, clock: _Clock) -> list[str]:
    said: list[tuple[float, str]] = []
    for out in happenings.withdrawals:
        name, start = clock.node(out.node), out.start + 60
        if out.kind == "down":
            said.append((start, f"error: Nodes {name} not responding, setting DOWN"))
            said.append((out.end, f"Node {name} now responding"))
            said.append((out.end + 0.01, f"node {name} returned to service"))
        else:
            said.append((start, f"update_node: node {name} reason set to: {_reason(out)}"))
            said.append((start + 0.001, f"update_node: node {name} state set to DRAINING"))
            said.append((out.end, f"update_node: node {name} state set to IDLE"))
    return [
        slurmctld_line(clock.local(at), text) for at, text in sorted(said) if happenings.first <= at < happenings.last
    ]


def first_moment(index: int) -> float:
    """Return when the export of a cluster begins. Clusters begin in different months."""
    return datetime(2025, 1 + index % 8, 1 + (3 * index) % 20, tzinfo=UTC).timestamp()
