"""Small files that cost a careless reader much memory.

`python -m tests.sources.bombs NAME FOLDER` loads one and prints the outcome and the peak of memory in MiB, as JSON.
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
"""Memory limit of DuckDB, and of the process in addition."""
GOOD = export([{}])


def _packed(line: bytes, count: int, end: bytes = b"") -> bytes:
    """Pack an export, some bytes many times, and a record after them."""
    packer = zstandard.ZstdCompressor().compressobj()
    last = export([{"JobID": "52"}]).splitlines()[1].encode()
    parts = [packer.compress(GOOD.encode()), *(packer.compress(line) for _ in range(count))]
    return b"".join([*parts, packer.compress(end + last + b"\n"), packer.flush()])


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


BOMBS: dict[str, Callable[[], dict[str, str | bytes]]] = {
    bomb.__name__: bomb for bomb in (long_line, delimiters, plain_lines)
}


def peak_mib() -> int:
    """Return the most memory that this process has held, in MiB.

    `getrusage` would also count the memory of the parent process.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) // 1024


def main(name: str, folder: Path) -> None:
    """Load a bomb that was written before, and print the outcome."""
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
