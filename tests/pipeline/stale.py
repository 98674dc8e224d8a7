"""A cluster of a few jobs, and accounting that becomes unreadable, for a night with a stale cluster."""

from __future__ import annotations

from orchestration.settings.home import Home
from tests.logs import Cluster, at


def cluster(jobs: int = 60) -> Cluster:
    """A cluster on which every tenth job fails with evidence."""
    logs = Cluster().inventory("n[1-8]")
    for number in range(1, jobs + 1):
        state = "NODE_FAIL" if number % 10 == 0 else "COMPLETED"
        logs.job(number, f"n[{1 + number % 4}-{4 + number % 4}]", at(number), at(number, minutes=50), state)
        if state == "NODE_FAIL":
            logs.kernel(
                f"n{1 + number % 4}", at(number, minutes=49), "NVRM: Xid (PCI:0000:07:00): 79, pid=1, off the bus"
            )
    return logs


def break_lines(home: Home, cluster_id: str, name: str) -> None:
    """Give a tenth of a cluster's accounting records a state that Slurm does not know."""
    path = home.sources / cluster_id / "sacct" / name
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(
        "".join(line.replace("COMPLETED", "EXPLODED") if n % 9 == 1 else line for n, line in enumerate(lines))
    )
