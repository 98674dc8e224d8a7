"""Small files that take much memory of a reader that trusts them; run as a program it loads one and tells its peak.

`python -m tests.sources.bombs NAME FOLDER` prints the peak of the process in MiB and what became of the files, as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import duckdb
import zstandard

from assets.sources.formats import READERS
from assets.warehouse import create_raw_and_ops
from tests.logs import export
from tests.sources.folders import load_results

MEMORY_MB, SPARE_MB = 500, 1024
"""What DuckDB may take, and what the process may take beyond it."""
LISTS, TICKETS, TICKET_CHARACTERS = 150, 1_000_000, 1_000
GOOD = export([{}])


def _packed(line: bytes, count: int, end: bytes = b"") -> bytes:
    """Pack an export, some bytes many times, and a record behind them."""
    packer = zstandard.ZstdCompressor().compressobj()
    last = export([{"JobID": "52"}]).splitlines()[1].encode()
    parts = [packer.compress(GOOD.encode()), *(packer.compress(line) for _ in range(count))]
    return b"".join([*parts, packer.compress(end + last + b"\n"), packer.flush()])


def _jobs(count: int, **fields: str) -> str:
    records = [{name: text.format(n=n) for name, text in fields.items()} for n in range(count)]
    return export([{"JobID": str(n), **record} for n, record in enumerate(records)])


def long_line() -> dict[str, str | bytes]:
    """A line of a gigabyte in 35 KB."""
    return {"c1/sacct/a.txt.zst": _packed(b"a" * 2**20, 1000, b"\n")}


def delimiters() -> dict[str, str | bytes]:
    """Lines of a million fields in 20 KB."""
    return {"c1/sacct/a.txt.zst": _packed(b"|" * 1_000_000 + b"\n", 300)}


def plain_lines() -> dict[str, str | bytes]:
    """Lines of 60 MB."""
    return {
        "c1/sacct/a.txt": f"{GOOD}{'x' * 60_000_000}\n",
        "c1/kernel/k.log": f"Nov 21 07:34:23 n1 kernel: x\n{'NVRM: Xid' * 6_000_000}\n",
    }


def tickets() -> dict[str, str | bytes]:
    """Tickets of a gigabyte, which do not fit into memory as lists of texts; two quotes that are never closed."""
    packer = zstandard.ZstdCompressor().compressobj()
    ticket = f"{{n}},node001,2024-05-01 09:00,2024-05-02 10:00,GPU {{node}},{'x' * TICKET_CHARACTERS}\n"
    parts = [packer.compress(b"ticket_id,node,opened,closed,component,summary\n")]
    parts += [packer.compress(ticket.format(n=n, node=n % 1000).encode()) for n in range(TICKETS)]
    parts += [packer.compress(b'7,node001,2024-05-01,,GPU,"never closed\n' * 2), packer.flush()]
    return {"c1/sacct/a.txt": GOOD, "c1/tickets/a.csv.zst": b"".join(parts)}


def lists() -> dict[str, str | bytes]:
    """Node lists of a hundred thousand nodes, of long names, in every kind that has lists."""
    large = "n{n}x[00000-99999]"
    text = {n: large.format(n=n) for n in range(LISTS)}
    return {
        "c1/sacct/many.txt": _jobs(LISTS, NodeList=large, NNodes="100000"),
        "c2/sacct/long.txt": export([{"NodeList": f"{'a' * 100_000}[0-99999]", "NNodes": "100000"}, {"JobIDRaw": "2"}]),
        "c3/sacct/padded.txt": _jobs(LISTS, NodeList=f"n{{n}}[{'0' * 4000}1-{'0' * 4000}9]"),
        "c4/sacct/excluded.txt": _jobs(LISTS, SubmitLine=f"sbatch --exclude={large} x"),
        "c5/sacct/small.txt": _jobs(LISTS, NodeList="n{n}x[0001-2000]", NNodes="2000"),
        "c5/slurmctld/a.log": "".join(
            f"[2024-05-01T10:00:00.123] error: Nodes {node_list} not responding, setting DOWN\n"
            for node_list in text.values()
        ),
        "c5/squeue/a.txt": "JOBID|EXC_NODES|STATE\n"
        + "".join(f"{n}|{node_list}|RUNNING\n" for n, node_list in text.items()),
        "c5/tickets/a.csv": "ticket_id,node,opened\n"
        + "".join(f"{n},{node_list},2024-05-01\n" for n, node_list in text.items()),
    }


BOMBS: dict[str, Callable[[], dict[str, str | bytes]]] = {
    bomb.__name__: bomb for bomb in (long_line, delimiters, plain_lines, tickets, lists)
}


def peak_mib() -> int:
    """Return the most memory that this process has held, in MiB.

    `getrusage` would also count what the process that started this one held.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) // 1024


def main(name: str, folder: Path) -> None:
    """Load a bomb that was written before, and print what it came to."""
    settings = {"threads": 2, "memory_limit": f"{MEMORY_MB}MB", "temp_directory": str(folder / "spilled")}
    con = duckdb.connect(str(folder / "warehouse.duckdb"), config=settings)
    con.execute("set timezone = 'UTC'")
    create_raw_and_ops(con)
    load_results(folder / "sources", con, READERS)
    reasons = con.execute("select path, reason, count(*) from ops.quarantine group by all order by all").fetchall()
    loaded = con.execute("select path, loaded from ops.files order by path").fetchall()
    print(json.dumps({"peak": peak_mib(), "quarantined": reasons, "loaded": loaded}))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
