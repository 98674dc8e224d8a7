"""GCM and NHC records: every shape, every quality, every line once."""

from __future__ import annotations

import json
import random
from collections import Counter
from typing import Any

import pytest

from assets.sources import health
from tests.sources.batches import TESTBED, load, read
from tests.sources.cases import Case, cases_of, check_case, ids_of

GCM_IDS = {"N137", "N138", "N140", "N143", "N144", "N145", "N146", "N147"}
NHC_IDS = {"N133", "N135", "N136"}


@pytest.mark.parametrize("case", cases_of("gcm_health") + cases_of("nhc"))
def test_case(case: Case) -> None:
    check_case(health, case)


def test_no_known_case_is_missing() -> None:
    assert ids_of("gcm_health") >= GCM_IDS
    assert ids_of("nhc") >= NHC_IDS


def test_the_genuine_capture_is_read_whole() -> None:
    outcome = read(health, (TESTBED / "health" / "health_checks.jsonl").read_text(encoding="utf-8"))
    assert len(outcome.loaded) == outcome.line_count == 1477
    assert {row["result_quality"] for row in outcome.loaded} == {"ran"}
    critical = [row for row in outcome.loaded if row["result"] == "CRITICAL"]
    assert {(row["node_name"], row["check_name"], tuple(row["xid_codes"])) for row in critical} == {
        ("node001", "xid errors", (48,)),
        ("node002", "xid errors", (79,)),
        ("node002", "nvidia smi gpu_num", ()),
        ("node010", "check ibstat", ()),
        ("node015", "mounted directory", ()),
        ("node015", "service status", ()),
    }


def records(count: int) -> list[str]:
    return [
        json.dumps(
            {
                "int": {"result": number % 3, "job_id": 0},
                "double": {"start_time": 1795246000.0 + number, "end_time": 1795246000.5 + number},
                "normal": {"node": f"n{number % 5}", "health_check": "check pci", "type": "nagios", "_msg": ""},
                "tags": {},
            }
        )
        for number in range(count)
    ]


def outcomes_by_record(table: list[dict[str, Any]]) -> Counter[tuple[Any, str]]:
    return Counter((row["observed_at"], row["disposition"]) for row in table)


def test_rotated_files_that_overlap_count_once_in_any_order() -> None:
    lines = records(40)
    # GCM's rotation: the old file is copied while the new one already has its last records
    files = {"checks.json.1": "\n".join(lines[:25]) + "\n", "checks.json": "\n".join(lines[15:]) + "\n"}
    at_once = load(health, files)
    shuffled = list(files.items())
    random.Random(4).shuffle(shuffled)
    one_by_one = load(health, *({name: text} for name, text in reversed(shuffled)))
    assert at_once == one_by_one
    assert Counter(row["disposition"] for row in at_once) == {"loaded": 40, "duplicate": 10}
    assert set(outcomes_by_record(at_once).values()) == {1}


def test_a_file_removed_from_the_table_gives_its_duplicates_back() -> None:
    lines = "\n".join(records(3)) + "\n"
    table = load(health, {"a.json": lines, "b.json": lines})
    assert Counter((row["path"], row["disposition"]) for row in table) == {
        ("c1/health/a.json", "loaded"): 3,
        ("c1/health/b.json", "duplicate"): 3,
    }
