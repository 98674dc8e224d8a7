"""GCM and NHC records: every shape, every quality, every line once."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

from assets.sources.health import reader as health
from assets.sources.text.check_subjects import SUBJECTS
from tests.logs import result_line
from tests.sources.batches import TESTBED, load, read
from tests.sources.folders import PROJECT


def test_the_genuine_capture_is_read_whole() -> None:
    outcome = read(health, (TESTBED / "health" / "health_checks.jsonl").read_text(encoding="utf-8"))
    assert len(outcome.loaded) + Counter(row["reason"] for row in outcome.skipped)["unchanged"] == 1477
    assert outcome.line_count == 1477
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
        result_line(f"n{number % 5}", 1795246000.5 + number, code=number % 3, started=1795246000.0 + number)
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


def test_an_unchanged_stretch_keeps_its_ends_and_what_it_spans() -> None:
    def record(minute: int, code: int, check: str = "check ibstat", message: str = "link up") -> str:
        at = 1795219200.0 + minute * 60
        return result_line("n1", at, check, code, message, started=at)

    every_ten = [record(minute, 0) for minute in range(0, 300, 10)]
    sticky = [record(minute, 2, "nvidia smi row_remap_pending", "GPU 7: pending") for minute in range(0, 100, 10)]
    telling = [record(minute, 1, "check ssd", f"{minute} errors") for minute in range(0, 100, 10)]
    changing = [record(minute, 2 if minute == 50 else 0, "check pci") for minute in range(0, 100, 10)]
    gap = [record(minute, 0, "check zombie") for minute in (0, 10, 20, 90, 100)]
    outcome = read(health, "\n".join([*every_ten, *sticky, *telling, *changing, *gap]) + "\n")

    kept = Counter(row["check_name"] for row in outcome.loaded)
    assert kept == {
        "check ibstat": 2,
        "nvidia smi row_remap_pending": 2,
        "check ssd": 10,
        "check pci": 10,
        "check zombie": 5,
    }
    assert Counter(row["reason"] for row in outcome.skipped) == {"unchanged": 28 + 8}
    spans = {
        row["check_name"]: (row["observed_at"] - row["unchanged_since"]).total_seconds() / 60
        for row in outcome.loaded
        if row["unchanged_since"] is not None
    }
    assert spans == {"check ibstat": 290, "nvidia smi row_remap_pending": 90}


def test_good_results_that_name_what_they_looked_at_are_not_taken_for_one_another() -> None:
    said = ("Service slurmd is running", "Service sssd is running")
    lines = [
        result_line("n1", 1795219200.0 + 5 * number, "service status", 0, said[number % 2]) for number in range(120)
    ]
    assert len(read(health, "\n".join(lines) + "\n").loaded) == len(lines)


def test_the_reader_and_dbt_know_the_same_checks_whose_results_name_a_subject() -> None:
    macro = (PROJECT / "dbt_project" / "macros" / "health_check_subject.sql").read_text(encoding="utf-8")
    named = macro.partition("{% macro checks_with_subjects() -%}")[2].partition("{%- endmacro %}")[0]
    assert tuple(name.strip(" '\n") for name in named.split(",")) == SUBJECTS
