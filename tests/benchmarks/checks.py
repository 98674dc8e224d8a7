"""Raw check logs of a site that keeps every result: nearly all of them good. Written here, then read by both.

`python -m tests.benchmarks.checks scan SOURCES TARGET` is DuckDB alone: read the JSON, keep what is not OK;
`python -m tests.benchmarks.checks read SOURCES TARGET` is the reader of `health/` with everything it does to a line.
"""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

CLUSTER = "checks"
NODES = 1000
CHECKS = (
    "check ibstat", "check pci", "check blockdev", "check ethlink", "check mountpoint", "check dcgmi nvlink status",
    "nvidia smi gpu_num", "nvidia smi ecc_uncorrected", "nvidia smi row_remap_pending", "xid errors",
)  # fmt: skip
SECONDS_BETWEEN = 300
LINES_PER_DAY = NODES * len(CHECKS) * 86_400 // SECONDS_BETWEEN

# Every node reports once in five minutes, at its own time; of all hours of a check on a node one in 2,000 is critical.
_LINES = """
select
    '{"int": {"result": ' || if(is_bad, '2', '0') || ', "job_id": 0}, "double": {"start_time": ' || moment || '.'
    || fraction || ', "end_time": ' || moment || '.' || fraction + 14 || '}, "normal": {"node": "' || node
    || '", "cluster": "checks", '
    || '"derived_cluster": "checks", "health_check": "' || check_name || '", "type": "nagios", "_msg": "'
    || if(is_bad, 'GPU 3: the check failed, the count is above the threshold, 4 > 0.', 'All are as expected.')
    || '"}, "tags": {}}'
from (
    select
        $begin + $between * i // (len($checks) * $nodes) as moment,
        100 + hash(i) % 880 as fraction,
        'node' || lpad((i // len($checks) % $nodes)::varchar, 4, '0') as node,
        $checks[i % len($checks) + 1] as check_name,
        hash(node, check_name, moment // 3600) % 2000 = 0 as is_bad
    from range($lines) as numbers (i)
)
"""
_BEGIN = 1_704_067_200
_ACCOUNTING = (
    "JobID|JobIDRaw|Cluster|User|State|ExitCode|Submit|Start|End|ElapsedRaw|NNodes|NodeList|AllocTRES\n"
    "1|1|checks|u|COMPLETED|0:0|2024-01-01T00:00:00|2024-01-01T00:00:10|2024-01-01T01:00:10|3600|1|node0000|"
    "billing=8,cpu=8,gres/gpu=8,mem=8G,node=1\n"
)


def write(sources: Path, lines: int, compressed: bool) -> Path:
    """Write a cluster whose checks report every five minutes, one file a day, and return its sources folder."""
    cluster = sources / CLUSTER
    for kind in ("health", "inventory", "sacct"):
        (cluster / kind).mkdir(parents=True)
    (cluster / "sacct" / "sacct.psv").write_text(_ACCOUNTING, encoding="utf-8")
    nodes = (f"NodeName=node{number:04d} Gres=gpu:a100:8 State=IDLE\n" for number in range(NODES))
    (cluster / "inventory" / "nodes.txt").write_text("".join(nodes), encoding="utf-8")
    suffix, compression = (".gz", "gzip") if compressed else ("", "none")
    sizes = {"between": SECONDS_BETWEEN, "checks": list(CHECKS), "nodes": NODES}
    for day, first in enumerate(range(0, lines, LINES_PER_DAY)):
        path = cluster / "health" / f"health-{day:03d}.jsonl{suffix}"
        duckdb.connect().execute(
            f"copy ({_LINES}) to '{path}' "
            f"(format csv, header false, delimiter '\x01', quote '', escape '', compression {compression})",
            {**sizes, "begin": _BEGIN + 86_400 * day, "lines": min(LINES_PER_DAY, lines - first)},
        )
    return sources


def scan(sources: Path, target: Path) -> None:
    """Keep the results that are not OK, with DuckDB's JSON reader and nothing else."""
    with duckdb.connect(str(target)) as con:
        con.execute(
            """
            create table bad as
            select "normal".node, "normal".health_check, "int".result, "double".end_time, "normal"._msg
            from read_json(?, format = 'newline_delimited', columns = {
                'int': 'STRUCT(result INTEGER)', 'double': 'STRUCT(end_time DOUBLE)',
                'normal': 'STRUCT(node VARCHAR, health_check VARCHAR, _msg VARCHAR)'
            })
            where "int".result <> 0
            """,
            [str(sources / CLUSTER / "health" / "*")],
        )


def read(sources: Path, target: Path) -> None:
    """Load the cluster's nodes and checks as a refresh does, without Dagster around it."""
    from assets.sources.formats import READERS
    from assets.sources.intake.across_files import settle
    from assets.sources.intake.find.folder import survey
    from assets.sources.intake.loading import load_kinds
    from assets.warehouse import create_raw_and_ops, transaction

    found = survey(sources, READERS)
    with duckdb.connect(str(target)) as con:
        con.execute("set timezone = 'UTC'")
        create_raw_and_ops(con)
        load_kinds(con, found, READERS, "benchmark")
        with transaction(con):
            settle(con, found, READERS)


if __name__ == "__main__":
    {"scan": scan, "read": read}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
