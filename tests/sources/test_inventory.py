"""scontrol's nodes: blocks and one-liners alike, the newest snapshot counts."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest

from assets.sources.inventory import reader as inventory
from tests.sources.batches import TESTBED, cluster_of, load, read
from tests.sources.folders import load as load_folder
from tests.sources.folders import make


def test_the_genuine_capture_is_read_whole_in_both_forms() -> None:
    blocks = (TESTBED / "inventory" / "scontrol_node.txt").read_text(encoding="utf-8")
    outcome = read(inventory, blocks)
    assert outcome.line_count == 289
    assert outcome.skips == {"continuation": 257, "blank": 16}
    assert {row["node_name"] for row in outcome.loaded} == {f"node{number:03d}" for number in range(1, 17)}
    assert {(row["gpu_count"], row["gpu_model"], row["cpu_count"]) for row in outcome.loaded} == {(8, "a100", 64)}
    drained = [row for row in outcome.loaded if row["reason"]]
    assert [(row["node_name"], row["reason"]) for row in drained] == [
        ("node001", "lemon: repeated job failures, ticket 4802")
    ]
    lines = "".join(" ".join(block.split("\n   ")).strip() + "\n" for block in blocks.strip().split("\n\n"))
    one_liners = read(inventory, lines)
    assert one_liners.line_count == 16
    for as_block, as_line in zip(outcome.loaded, one_liners.loaded, strict=True):
        assert as_block | {"line_number": 0} == as_line | {"line_number": 0}


@pytest.mark.parametrize("text", [
    "NodeName=n1 CPUTot=4\n   State=DOWN ThreadsPerCore=1\n   \n   Reason=fans: 2 failed [root@1795737439]\n"
    "          mail [ops@site] |\n          rack 7\n   Comment=spare\n",
    "NodeName=n1 CPUTot=4 State=DOWN ThreadsPerCore=1  Reason=fans: 2 failed [root@1795737439]        mail [ops@site] |"
    "        rack 7 Comment=spare\n",
])  # fmt: skip
def test_who_gave_a_reason_of_several_lines_stands_behind_its_first(text: str) -> None:
    (row,) = read(inventory, text).loaded
    assert " ".join(row["reason"].split()) == "fans: 2 failed mail [ops@site] | rack 7"
    assert (row["reason_user"], str(row["reason_at"])) == ("root", "2026-11-26 23:57:19")


@pytest.mark.parametrize(
    ("facts", "count", "model"),
    [
        ("Gres=hpu:8 CfgTRES=cpu=160,gres/hpu=8", 8, "hpu"),
        ("Gres=hpu:gaudi2:8(S:0-1)", 8, "gaudi2"),
        ("Gres=gpu:mi300x:8,nvme:2 CfgTRES=cpu=160,gres/gpu=8,gres/gpu:mi300x=8", 8, "mi300x"),
        ("Gres=npu:8 CfgTRES=cpu=160,gres/npu=8", 0, None),
    ],
)
def test_accelerators_by_any_name_that_counts_are_gpus(facts: str, count: int, model: str | None) -> None:
    (row,) = read(inventory, f"NodeName=n1 CPUTot=160 State=IDLE {facts}\n").loaded
    assert (row["gpu_count"], row["gpu_model"]) == (count, model)


def test_a_site_names_its_accelerators() -> None:
    cluster = cluster_of(accelerators={"gres": ["npu"]})
    line = "NodeName=n1 CPUTot=160 State=IDLE Gres=npu:ascend910:8,gpu:1\n"
    (row,) = read(inventory, line, cluster=cluster).loaded
    assert (row["gpu_count"], row["gpu_model"]) == (8, "ascend910")


def snapshot(gpus: int, day: int) -> str:
    return f"NodeName=n1 CPUTot=4 State=IDLE Gres=gpu:{gpus} SlurmdStartTime=2026-11-{day:02d}T00:00:00\n"


def test_the_newest_snapshot_counts_whatever_its_name_and_order() -> None:
    files = [{"b": snapshot(8, 1)}, {"a": snapshot(4, 3) + snapshot(2, 2)}, {"c": snapshot(7, 2)}]
    for order in (files, files[::-1]):
        table = load(inventory, *order)
        assert [(row["path"], row["gpu_count"]) for row in table if row["disposition"] == "loaded"] == [
            ("c1/inventory/a", 2)
        ], "of one file, the last of its snapshots"
        assert sum(row["disposition"] == "duplicate" for row in table) == 3


def test_of_two_snapshots_the_one_with_the_later_name_counts(tmp_path: Path) -> None:
    def table(gpus: int) -> str:
        return f"NODELIST|GRES|STATE|REASON|TIMESTAMP\nn1|gpu:a100:{gpus}|drained|bad|2024-04-0{gpus // 4}T00:00:00\n"

    files = {"c1/inventory/sinfo.2024-05-01.txt": table(8), "c1/inventory/sinfo.2024-05-02.txt": table(4)}
    folder = make(tmp_path, files)
    os.utime(folder / "c1/inventory/sinfo.2024-05-01.txt", (1714800000, 1714800000))  # copied last
    con = load_folder(folder, readers={"inventory": inventory})
    found = con.execute("select gpu_count, captured_at from raw.nodes where disposition = 'loaded'").fetchall()
    assert found == [(4, datetime(2024, 5, 2))]
