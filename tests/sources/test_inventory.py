"""The snapshot with the later name counts; forms of inventories are rows of `inventory.toml`."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from assets.sources.inventory import reader as inventory
from tests.sources.folders import load, make


def test_of_two_snapshots_the_one_with_the_later_name_counts(tmp_path: Path) -> None:
    def table(gpus: int) -> str:
        return f"NODELIST|GRES|STATE|REASON|TIMESTAMP\nn1|gpu:a100:{gpus}|drained|bad|2024-04-0{gpus // 4}T00:00:00\n"

    files = {"c1/inventory/sinfo.2024-05-01.txt": table(8), "c1/inventory/sinfo.2024-05-02.txt": table(4)}
    folder = make(tmp_path, files)
    os.utime(folder / "c1/inventory/sinfo.2024-05-01.txt", (1714800000, 1714800000))  # copied last
    con = load(folder, readers={"inventory": inventory})
    found = con.execute("select gpu_count, captured_at from raw.nodes where disposition = 'loaded'").fetchall()
    assert found == [(4, datetime(2024, 5, 2))]
