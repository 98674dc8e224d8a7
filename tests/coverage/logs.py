"""The files of a cluster's folder, in the forms that sites have."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from tests.coverage.checks import SECONDS_OF_RUN, KernelLine, Result
from tests.coverage.happenings import Attempt, Happenings, Job, node_name
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


def write_logs(folder: Path, happenings: Happenings, results: list[Result], lines: list[KernelLine]) -> None:
    """Write a cluster's folder."""
    site = happenings.site
    zone = ZoneInfo(site.timezone)
    folder.mkdir(parents=True)
    settings = [f'timezone = "{site.timezone}"'] if site.timezone != "UTC" else []
    settings += [f"gpus_per_node = {site.gpus_per_node}"] if site.gpus_per_node != 8 else []
    if settings:
        (folder / "cluster.toml").write_text("\n".join(settings) + "\n")
    _write(folder / "sacct" / "sacct.psv", _accounting(happenings, zone))
    _write(folder / "inventory" / "nodes.txt", _inventory(happenings))
    if site.health == "gcm":
        _write(folder / "health" / "health_checks.jsonl", _gcm(happenings, results))
    if site.health == "nhc":
        until = datetime.fromtimestamp(happenings.last, zone)
        _write(folder / "health" / f"nhc-{until:%Y%m%d}.log", _nhc(happenings, results, zone))
    if lines:
        _write(folder / "kernel" / "kernel.log", _kernel(happenings, lines, zone))
    if site.outages == "events":
        _write(folder / "events" / "events.psv", _events(happenings, zone))
    if site.outages == "slurmctld":
        _write(folder / "slurmctld" / "slurmctld.log", _slurmctld(happenings, zone))


def _write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("\n".join(lines) + "\n")


def _local(at: float, zone: ZoneInfo) -> str:
    return datetime.fromtimestamp(int(at), zone).strftime("%Y-%m-%dT%H:%M:%S")


def is_exported(attempt: Attempt, happenings: Happenings) -> bool:
    """Whether the attempt overlaps the export, as `sacct -S -E` shows it."""
    return attempt.ended >= happenings.first and attempt.started < happenings.last


FIELDS = (
    "JobID|JobIDRaw|Cluster|User|Account|Partition|QOS|JobName|Submit|Eligible|Start|End|ElapsedRaw|State|ExitCode|"
    "NNodes|AllocNodes|NodeList|AllocTRES"
)


def _accounting(happenings: Happenings, zone: ZoneInfo) -> list[str]:
    site = happenings.site

    def moment(at: float) -> str:
        return str(int(at)) if site.is_epoch else _local(at, zone)

    rows = [FIELDS]
    for attempt in sorted(happenings.attempts, key=lambda attempt: (attempt.started, attempt.job.number)):
        if not is_exported(attempt, happenings):
            continue
        job, is_running = attempt.job, attempt.ended >= happenings.last
        end = happenings.last if is_running else attempt.ended
        state = "RUNNING" if is_running else attempt.state
        rows.append(
            "|".join(
                [
                    *_names(job, site.name),
                    moment(attempt.submitted),
                    moment(attempt.submitted),
                    moment(attempt.started),
                    "Unknown" if is_running else moment(attempt.ended),
                    str(int(end) - int(attempt.started)),
                    state,
                    "1:0" if state == "FAILED" else "0:0",
                    str(job.node_count),
                    str(job.node_count),
                    ",".join(node_name(site, node) for node in attempt.nodes),
                    f"billing={job.gpus},cpu={8 * job.gpus},gres/gpu={job.gpus},node={job.node_count}",
                ]
            )
        )
    for job in happenings.pending:
        if job.submitted < happenings.last:
            times = [moment(job.submitted), moment(job.submitted), "Unknown", "Unknown", "0", "PENDING", "0:0"]
            rows.append("|".join([*_names(job, site.name), *times, str(job.node_count), "0", "None assigned", ""]))
    return rows


def _names(job: Job, cluster: str) -> list[str]:
    return [str(job.number), str(job.number), cluster, job.user, "lab", "gpu", "normal", f"train{job.number}"]


def _inventory(happenings: Happenings) -> list[str]:
    site = happenings.site
    return [
        f"NodeName={node_name(site, node)} CPUTot=64 Gres=gpu:{site.gpus_per_node} State=IDLE "
        f"CfgTRES=cpu=64,mem=900G,gres/gpu={site.gpus_per_node} Partitions=gpu"
        for node in range(site.node_count)
    ]


def _gcm(happenings: Happenings, results: list[Result]) -> list[str]:
    site = happenings.site
    rows = []
    for result in results:
        check, message = GCM_CHECKS[result.category]
        code, said = (2, message) if result.is_failure else (0, "ok")
        end, names = round(result.at + SECONDS_OF_RUN, 3), {"cluster": site.name, "derived_cluster": site.name}
        node = node_name(site, result.node)
        rows.append(result_line(node, end, check, code, said, started=round(result.at, 3), **names))
    return rows


def _nhc(happenings: Happenings, results: list[Result], zone: ZoneInfo) -> list[str]:
    return [
        f"{datetime.fromtimestamp(result.at, zone):%b %e %H:%M:%S} "
        f"{node_name(happenings.site, result.node)} nhc[{4000 + result.node}]: Health check failed:  "
        f"{NHC_CHECKS[result.category]}"
        for result in results
        if result.is_failure
    ]


def _kernel(happenings: Happenings, lines: list[KernelLine], zone: ZoneInfo) -> list[str]:
    return [
        f"{datetime.fromtimestamp(line.at, zone).isoformat(timespec='milliseconds')} "
        f"{node_name(happenings.site, line.node)} kernel: [{line.at - happenings.first:.3f}] "
        f"{KERNEL_MESSAGES[line.category]}"
        for line in lines
    ]


def reason_of(kind: str, category: str) -> str:
    """What is said of a node that is taken out of service."""
    return REASONS.get(kind) or "HC: " + NHC_CHECKS[category].split(":")[0]


def _events(happenings: Happenings, zone: ZoneInfo) -> list[str]:
    def moment(at: float) -> str:
        return str(int(at)) if happenings.site.is_epoch else _local(at, zone)

    site = happenings.site
    rows = ["|".join(EVENT_COLUMNS)]
    for out in sorted(happenings.withdrawals, key=lambda out: (out.start, out.node)):
        if out.start >= happenings.last or out.end <= happenings.first:
            continue
        end = "Unknown" if out.end >= happenings.last else moment(out.end)
        state = "DOWN" if out.kind == "down" else "DRAIN"
        reason = reason_of(out.kind, out.category)
        rows.append(f"{site.name}|{node_name(site, out.node)}|{moment(out.start + 60)}|{end}|{state}|{reason}|root(0)")
    return rows


def _slurmctld(happenings: Happenings, zone: ZoneInfo) -> list[str]:
    site = happenings.site
    said: list[tuple[float, str]] = []
    for out in happenings.withdrawals:
        name = node_name(site, out.node)
        start = out.start + 60
        if out.kind == "down":
            said.append((start, f"error: Nodes {name} not responding, setting DOWN"))
            said.append((out.end, f"Node {name} now responding"))
            said.append((out.end + 0.01, f"node {name} returned to service"))
        else:
            reason = reason_of(out.kind, out.category)
            said.append((start, f"update_node: node {name} reason set to: {reason}"))
            said.append((start + 0.001, f"update_node: node {name} state set to DRAINING"))
            said.append((out.end, f"update_node: node {name} state set to IDLE"))
    return [
        slurmctld_line(datetime.fromtimestamp(at, zone), text)
        for at, text in sorted(said)
        if happenings.first <= at < happenings.last
    ]


def first_moment(index: int) -> float:
    """When the export of a cluster begins: clusters begin in different months."""
    return datetime(2025, 1 + index % 8, 1 + (3 * index) % 20, tzinfo=UTC).timestamp()
