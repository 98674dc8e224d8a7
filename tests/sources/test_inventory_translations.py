"""Inventories in other forms than scontrol's text name the same nodes with what they tell of them."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assets.sources.errors import SourceError
from assets.sources.inventory import reader as inventory
from tests.sources.batches import cluster_of
from tests.sources.folders import PROJECT, load, make, rows

FIXTURES = PROJECT / "tests" / "fixtures"
SLURM = FIXTURES / "slurm-22.05"
ONLY_INVENTORY = {"inventory": inventory}
DRAINED = "lemon: repeated job failures, ticket 4802"


def read(folder: Path, name: str, text: str | bytes, config: str = "") -> duckdb.DuckDBPyConnection:
    return load(make(folder, {f"c1/inventory/{name}": text, "c1/cluster.toml": config}), readers=ONLY_INVENTORY)


def nodes(con: duckdb.DuckDBPyConnection) -> dict[str, dict[str, Any]]:
    return {row["node_name"]: row for row in rows(con, "select * from raw.nodes where disposition = 'loaded'")}


def account(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    (file,) = rows(con, "select lines_in, loaded, skipped, quarantined from ops.files where kind = 'inventory'")
    return file


def test_sinfo_json_of_the_genuine_cluster(tmp_path: Path) -> None:
    con = read(tmp_path, "sinfo.json", (SLURM / "sinfo.json").read_bytes())
    assert account(con) == {"lines_in": 16, "loaded": 16, "skipped": 0, "quarantined": 0}
    found = nodes(con)
    assert set(found) == {f"node{number:03d}" for number in range(1, 17)}
    assert {(row["gpu_count"], row["gpu_model"], row["cpu_count"], row["memory_mib"]) for row in found.values()} == {
        (8, "a100", 64, 512000)
    }
    drained = found["node001"]
    assert (drained["state"], drained["reason"], drained["reason_user"]) == ("IDLE+DRAIN", DRAINED, "root")
    assert drained["reason_at"] == datetime(2026, 11, 21, 8, 5, 49)
    assert {row["captured_at"] for row in found.values()} == {datetime(2026, 11, 21, 8, 5, 54)}
    assert found["node013"]["partitions"] == ["dev"]


def test_sinfo_tables_of_the_genuine_cluster(tmp_path: Path) -> None:
    per_node = nodes(read(tmp_path / "n", "sinfo.txt", (SLURM / "sinfo_nodes.txt").read_bytes()))
    assert len(per_node) == 16
    assert (per_node["node001"]["state"], per_node["node001"]["reason"]) == ("DRAINED", "lemon: repeated job")
    assert {row["captured_at"] for row in per_node.values()} == {datetime(2026, 11, 21, 8, 5, 59)}, "the line above"
    assert {row["gpu_count"] for row in per_node.values()} == {None}, "not shown is not none"
    summary = nodes(read(tmp_path / "s", "sinfo.txt", (SLURM / "sinfo.txt").read_bytes()))
    assert {name: row["state"] for name, row in summary.items()}["node001"] == "DRAIN"
    assert len(summary) == 16


def test_a_node_of_several_partitions_is_one_node(tmp_path: Path) -> None:
    text = (
        "NODELIST|GRES|STATE|REASON|TIMESTAMP|USER|PARTITION\n"
        "gpu1|gpu:h100:8(S:0-1)|drained*|HC: xid | 79|2026-11-20T10:00:00|root(0)|train*\n"
        "gpu2|(null)|idle|none|Unknown|Unknown|train*\ngpu2|(null)|idle|none|Unknown|Unknown|dev\nbroken|x\n"
    )
    con = read(tmp_path, "sinfo.txt", text)
    assert account(con) == {"lines_in": 5, "loaded": 2, "skipped": 2, "quarantined": 1}
    assert nodes(con)["gpu2"]["partitions"] == ["train", "dev"]
    assert nodes(con)["gpu2"]["gpu_count"] == 0
    gpu1 = nodes(con)["gpu1"]
    assert (gpu1["gpu_count"], gpu1["reason"], gpu1["reason_user"]) == (8, "HC: xid | 79", "root")


def test_slurm_conf_of_the_genuine_cluster(tmp_path: Path) -> None:
    con = read(tmp_path, "slurm.conf", (SLURM / "slurm.conf").read_bytes())
    found = nodes(con)
    assert len(found) == 16
    assert {(row["gpu_count"], row["gpu_model"], row["cpu_count"], row["state"]) for row in found.values()} == {
        (8, "a100", 64, None)
    }
    assert (found["node001"]["partitions"], found["node016"]["partitions"]) == (["train"], ["dev"])


CONF = """# nodes
ClusterName=c1
include /etc/slurm/more.conf
NodeName=DEFAULT Sockets=2 CoresPerSocket=32 \\
    ThreadsPerCore=2 RealMemory=1000
NodeName=gpu[001-002] Gres=gpu:h100:8 # two of them
NodeName=login1 CPUs=4
NodeName=new[1-9] State=FUTURE
NodeName=bad[1- Gres=gpu:1
PartitionName=all Nodes=ALL

"""


def test_slurm_conf_with_defaults_ranges_and_includes(tmp_path: Path) -> None:
    con = read(tmp_path, "slurm.conf", CONF)
    found = nodes(con)
    shown = ("gpu_count", "cpu_count", "memory_mib", "partitions")
    assert {name: tuple(row[column] for column in shown) for name, row in found.items()} == {
        "gpu001": (8, 128, 1000, ["all"]), "gpu002": (8, 128, 1000, ["all"]), "login1": (0, 4, 1000, ["all"]),
    }  # fmt: skip
    quarantined = rows(con, "select reason, detail from ops.quarantine order by reason")
    assert [row["reason"] for row in quarantined] == ["bad_nodelist", "include"]
    assert "put it into the same folder" in quarantined[1]["detail"]
    assert account(con)["lines_in"] == sum(account(con)[name] for name in ("loaded", "skipped", "quarantined"))


def test_the_gpus_of_a_node_with_several_types_are_added_up(tmp_path: Path) -> None:
    text = "ClusterName=c1\nNodeName=m[1-2] Gres=gpu:a100:4,gpu:v100:2,gpu:1g.10gb:7,nic:2 CPUs=64\n"
    found = nodes(read(tmp_path, "slurm.conf", text))
    assert {name: (row["gpu_count"], row["gpu_model"]) for name, row in found.items()} == {
        "m1": (13, "mixed"),
        "m2": (13, "mixed"),
    }
    block = "NodeName=m1 CPUTot=64 Gres=gpu:a100:4(S:0),gpu:v100:2(S:1) State=IDLE CfgTRES=cpu=64,mem=500G\n"
    assert nodes(read(tmp_path / "s", "nodes.txt", block))["m1"]["gpu_count"] == 6


def test_a_state_counts_more_than_a_newer_configuration(tmp_path: Path) -> None:
    files = {
        "c1/inventory/a.txt": "NodeName=n1 CPUTot=4 State=DOWN Gres=gpu:8 BootTime=2020-01-01T00:00:00\n",
        "c1/inventory/slurm.conf": "NodeName=n[1-2] Gres=gpu:4\n",
    }
    found = nodes(load(make(tmp_path, files), readers=ONLY_INVENTORY))
    assert {name: row["gpu_count"] for name, row in found.items()} == {"n1": 8, "n2": 4}


def test_of_two_snapshots_the_one_with_the_later_name_counts(tmp_path: Path) -> None:
    def table(gpus: int) -> str:
        return f"NODELIST|GRES|STATE|REASON|TIMESTAMP\nn1|gpu:a100:{gpus}|drained|bad|2024-04-0{gpus // 4}T00:00:00\n"

    files = {
        "c1/inventory/sinfo.2024-05-01.txt": table(8),
        "c1/inventory/sinfo.2024-05-02.txt": table(4),
    }
    folder = make(tmp_path, files)
    os.utime(next(tmp_path.rglob("sinfo.2024-05-01.txt")), (1714800000, 1714800000))  # copied last
    found = nodes(load(folder, readers=ONLY_INVENTORY))
    assert (found["n1"]["gpu_count"], found["n1"]["captured_at"]) == (4, datetime(2024, 5, 2))


def test_node_records_of_gcm(tmp_path: Path) -> None:
    con = read(tmp_path, "nodes.jsonl", (FIXTURES / "gcm" / "slurm_job_monitor.nodes.file_sink.jsonl").read_bytes())
    assert account(con) == {"lines_in": 4, "loaded": 3, "skipped": 1, "quarantined": 0}
    found = nodes(con)
    assert {name: row["gpu_count"] for name, row in found.items()} == {"node0201": 8, "node1537": 8, "node4180": 2}
    assert (found["node0201"]["state"], found["node0201"]["reason"]) == ("DRAINED*", "replace")
    assert found["node0201"]["reason_at"] == datetime(2022, 6, 2, 5, 54, 34)
    assert found["node1537"]["reason"] is None
    assert {row["captured_at"] for row in found.values()} == {datetime(2026, 11, 21, 7, 34, 52)}


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (
            {"nodes": [{"name": "n1", "state": ["DOWN", "DRAIN"], "gres": "", "tres": "cpu=4,gres/gpu=2", "cpus": 4,
                        "boot_time": {"set": True, "infinite": False, "number": 1795248284}, "partitions": ["p"]}]},
            {"state": "DOWN+DRAIN", "gpu_count": 2, "booted_at": datetime(2026, 11, 21, 8, 4, 44), "partitions": ["p"]},
        ),
        (
            {"sinfo": [{"node": {"state": ["IDLE"]}, "nodes": {"nodes": ["n1", "n2"]}, "gres": {"total": "gpu:h100:8"},
                        "cpus": {"minimum": 96}, "partition": {"name": "p"}, "reason": {"description": "bad"}}]},
            {"state": "IDLE", "gpu_count": 8, "gpu_model": "h100", "cpu_count": 96, "reason": "bad"},
        ),
    ],
)  # fmt: skip
def test_newer_documents(document: dict[str, Any], expected: dict[str, Any], tmp_path: Path) -> None:
    found = nodes(read(tmp_path, "nodes.json", json.dumps(document, indent=2)))["n1"]
    assert {name: found[name] for name in expected} == expected


def test_a_csv_with_columns_of_its_own(tmp_path: Path) -> None:
    config = '[inventory.columns]\nnode = "Server"\ngpus = "Cards"\ngpu_model = "Kind"\n'
    con = read(tmp_path, "nodes.csv", 'Server;Cards;Kind;Rack\n"gpu[1-2]";8;H100 SXM;r1\ngpu3;;;r2\n', config)
    found = nodes(con)
    assert {name: (row["gpu_count"], row["gpu_model"]) for name, row in found.items()} == {
        "gpu1": (8, "H100_SXM"), "gpu2": (8, "H100_SXM"), "gpu3": (None, None),
    }  # fmt: skip


def test_sinfo_without_a_header(tmp_path: Path) -> None:
    text = (
        "n1|gpu:a100:8(S:0-1)|idle|none|Unknown|Unknown\n"
        "n[2-3]|gpu:a100:8|drained*|bad GPU, ticket 7|1795248220|root(0)\n"
        "c1|(null)|mixed|none|Unknown|Unknown\n"
        "m1|gpu:a100:4(S:0,2),gpu:v100:4|down|fan 3|open |2026-11-21T08:03:40|slurm\n"
        "no row of it\n"
    )
    con = read(tmp_path, "sinfo.txt", text)
    assert account(con) == {"lines_in": 6, "loaded": 5, "skipped": 0, "quarantined": 1}
    found = nodes(con)
    assert {name: (row["gpu_count"], row["state"], row["reason"]) for name, row in found.items()} == {
        "n1": (8, "IDLE", None),
        "n2": (8, "DRAINED*", "bad GPU, ticket 7"),
        "n3": (8, "DRAINED*", "bad GPU, ticket 7"),
        "c1": (0, "MIXED", None),
        "m1": (8, "DOWN", "fan 3|open"),
    }
    assert (found["n2"]["reason_user"], found["n2"]["reason_at"]) == ("root", datetime(2026, 11, 21, 8, 3, 40))


def test_reasons_alone_name_the_nodes_that_have_one(tmp_path: Path) -> None:
    text = (
        "REASON               USER      TIMESTAMP           NODELIST\n"
        "Not responding       slurm     2026-11-21T08:05:49 n[1-2]\n"
        "bad                  root      2026-11-21T08:06:00 n3\n"
    )
    con = read(tmp_path, "reasons.txt", text)
    assert account(con) == {"lines_in": 4, "loaded": 3, "skipped": 1, "quarantined": 0}
    assert {name: (row["state"], row["gpu_count"], row["reason"]) for name, row in nodes(con).items()} == {
        "n1": (None, None, "Not responding"),
        "n2": (None, None, "Not responding"),
        "n3": (None, None, "bad"),
    }


@pytest.mark.parametrize("header", ["NODELIST|GRES|STATE|REASON|TIMESTAMP|USER\n", ""])
def test_a_reason_of_several_lines(header: str, tmp_path: Path) -> None:
    text = (
        "n1|(null)|idle|none|Unknown|Unknown\n"
        "n2|gpu:a100:4|drained|check failed:\n  port 1 is down\nsee ticket 7|2026-11-21T08:06:00|root\n"
        "n3|(null)|idle|none|Unknown|Unknown\n"
    )
    con = read(tmp_path, "sinfo.txt", header + text)
    assert account(con) == {"lines_in": 3 + bool(header), "loaded": 3, "skipped": bool(header), "quarantined": 0}
    found = nodes(con)
    assert (found["n2"]["gpu_count"], found["n2"]["reason"]) == (4, "check failed: port 1 is down see ticket 7")
    assert found["n2"]["reason_at"] == datetime(2026, 11, 21, 8, 6)


def test_the_long_table_has_a_column_that_is_mostly_empty(tmp_path: Path) -> None:
    """`sinfo -l` of Slurm 24.11 and 26.05."""
    text = (
        "Thu Nov 26 23:50:36 2026\n"
        "PARTITION AVAIL  TIMELIMIT   JOB_SIZE ROOT OVERSUBS     GROUPS  NODES       STATE RESERVATION NODELIST\n"
        "train*       up   infinite 1-infinite   no       NO        all      2       mixed             n[1-2]\n"
        "dev          up    1:00:00 1-infinite   no       NO        all      1       maint      racks7 n3\n"
    )
    con = read(tmp_path, "sinfo.txt", text)
    assert account(con) == {"lines_in": 5, "loaded": 3, "skipped": 2, "quarantined": 0}
    assert {name: (row["state"], row["partitions"]) for name, row in nodes(con).items()} == {
        "n1": ("MIXED", ["train"]), "n2": ("MIXED", ["train"]), "n3": ("MAINT", ["dev"]),
    }  # fmt: skip


def test_a_row_that_is_cut_off_takes_none_of_the_others(tmp_path: Path) -> None:
    text = (
        "NODELIST|STATE|REASON|TIMESTAMP\nn1|drained|cut off\nn2|drained|bad|2026-11-21T08:06:00\nn3|drained|cut off\n"
    )
    con = read(tmp_path, "sinfo.txt", text)
    assert account(con) == {"lines_in": 4, "loaded": 1, "skipped": 1, "quarantined": 2}


def test_words_of_a_broken_reason_are_no_node(tmp_path: Path) -> None:
    text = (
        "REASON               USER      TIMESTAMP           NODELIST\n"
        "down at the export\n"
        "se root      2026-11-21T08:06:00 n3\n"
    )
    con = read(tmp_path, "reasons.txt", text)
    assert account(con) == {"lines_in": 3, "loaded": 1, "skipped": 1, "quarantined": 1}
    assert nodes(con).keys() == {"n3"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("gres.conf", "# GPUs\n\nAutoDetect=nvml\nNodeName=n[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-7]\n"),
        ("topology.conf", "# tree\n\nSwitchName=s0 Nodes=n[1-8]\nSwitchName=s1 Switches=s0\n"),
    ],
)
def test_configurations_that_define_no_nodes_are_skipped(name: str, text: str, tmp_path: Path) -> None:
    con = read(tmp_path, name, text)
    assert account(con) == {"lines_in": 4, "loaded": 0, "skipped": 4, "quarantined": 0}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("PartitionName=dev\n   AllowGroups=ALL AllocNodes=ALL Default=NO\n", "a list of partitions"),
        ("n1|gpu:a100:8|idle\n", "no line begins"),
        ('{"jobs": []}', "JSON in which no node begins"),
    ],
)  # fmt: skip
def test_what_names_no_inventory_is_refused(text: str, what: str) -> None:
    with pytest.raises(SourceError) as refusal:
        inventory.detect(text, "c1/inventory/x", cluster_of())
    assert what in refusal.value.what


@pytest.mark.parametrize(
    ("name", "text", "hosts"),
    [
        (
            "slurm.conf",
            "NodeName=n[1-2] NodeHostname=h[1-2] NodeAddr=10.0.0.[1-2] CPUs=8\nNodeName=n3 CPUs=8\n",
            {"n1": {"h1", "10.0.0.1"}, "n2": {"h2", "10.0.0.2"}, "n3": None},
        ),
        (
            "nodes.json",
            '{"nodes": [{"name": "n1", "hostname": "h1", "address": "10.0.0.1"}, '
            '{"name": "n2", "hostname": "n2", "address": "n2"}]}',
            {"n1": {"h1", "10.0.0.1"}, "n2": set()},
        ),
    ],
)
def test_hosts_of_nodes(name: str, text: str, hosts: dict[str, set[str] | None], tmp_path: Path) -> None:
    found = {node: row["host_names"] for node, row in nodes(read(tmp_path, name, text)).items()}
    assert {
        node: quarantined if quarantined is None else set(quarantined) for node, quarantined in found.items()
    } == hosts


def test_more_gpus_than_any_machine_has_are_unknown(tmp_path: Path) -> None:
    text = "NodeName=n1 CPUTot=8 Gres=gpu:1500000000 State=IDLE\nNodeName=n2 CPUTot=8 Gres=gpu:8 State=IDLE\n"
    con = read(tmp_path, "nodes.txt", text)
    assert {node: row["gpu_count"] for node, row in nodes(con).items()} == {"n1": None, "n2": 8}
    assert rows(con, "select warnings from ops.files") == [{"warnings": ["impossible_gpu_count"]}]
