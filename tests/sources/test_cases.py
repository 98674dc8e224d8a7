"""No case of `tests/fixtures/cases` is lost, and each says what it is about."""

from __future__ import annotations

import json
import re

import pytest

from tests.sources.cases import FOLDER

MIN_CASES = {
    "gcm_health": 21, "kernel": 32, "nhc": 5, "odd_lines": 86, "sacct": 66, "sacctmgr_event": 13, "scontrol_node": 5,
    "slurmctld": 16, "squeue": 9, "tickets": 9,
}  # fmt: skip


@pytest.mark.parametrize("name", MIN_CASES)
def test_every_case_is_there_and_has_a_name_of_its_own(name: str) -> None:
    cases = [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    ids = [case["id"] for case in cases]
    assert len(set(ids)) == len(ids) >= MIN_CASES[name]
    assert [words for words in ids if re.fullmatch(r"[A-Z]+\d+", words)] == []


def test_no_file_of_cases_is_left_out() -> None:
    assert {path.stem for path in FOLDER.glob("*.jsonl")} == set(MIN_CASES)
