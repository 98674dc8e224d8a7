"""How exports of `sacct -P` differ by site and version: no header, exit codes of old, columns of new versions."""

from __future__ import annotations

from typing import Any

import pytest

from assets.sources.errors import SourceError, SourceErrors
from assets.sources.sacct import reader as sacct
from assets.sources.sacct.detection import XDMOD
from tests.logs import BASE, export
from tests.sources.batches import cluster_of
from tests.sources.folders import attempts, counts, load, make

RECORD = {
    **BASE, "Group": "g", "GID": "1", "Elapsed": "01:00:00", "NCPUS": "64", "ReqCPUS": "64", "ReqMem": "1G",
    "Timelimit": "02:00:00",
}  # fmt: skip


def test_the_hint_of_a_known_layout_makes_it_readable(tmp_path: Any) -> None:
    text = export([{**RECORD, "JobName": "a|b"}, {**RECORD, "JobID": "7", "JobIDRaw": "7"}], columns=XDMOD)
    headless = text.split("\n", 1)[1]
    with pytest.raises(SourceErrors) as refusal:
        load(make(tmp_path / "without", {"c1/sacct/a.log": headless}))
    hint = str(refusal.value)
    columns = hint[hint.index("columns = [") :]
    config = f'timezone = "UTC"\n[sacct]\n{columns}'
    con = load(make(tmp_path / "with", {"c1/sacct/a.log": headless, "c1/cluster.toml": config}))
    assert counts(con) == (2, 2, 0, 0)
    assert {row["job_name"] for row in attempts(con)} == {"a|b", "train"}


def test_the_hint_counts_the_columns_of_an_unknown_layout() -> None:
    with pytest.raises(SourceError) as refusal:
        sacct.detect("1;COMPLETED;a\n2;FAILED;b\n", "c1/sacct/x", cluster_of())
    assert "name the 3 columns in their order" in refusal.value.next_step
    assert 'delimiter = ";"' in refusal.value.next_step


EXIT_CODES = {"143:0": 15, "134:0": 6, "128:0": 128, "15:0": 15, "0:9": 0}


@pytest.fixture(scope="module")
def exit_codes_read(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The attempts of one export with a job for each exit code."""
    numbered = [(str(number), printed) for number, printed in enumerate(EXIT_CODES, 1)]
    jobs = [
        {"JobID": number, "JobName": printed, "State": "FAILED", "ExitCode": printed} for number, printed in numbered
    ]
    return attempts(load(make(tmp_path_factory.mktemp("exit_codes"), {"c1/sacct/a.psv": export(jobs)})))


@pytest.mark.parametrize("printed", EXIT_CODES)
def test_exit_codes_above_128_are_those_of_older_slurm(printed: str, exit_codes_read: list[dict[str, Any]]) -> None:
    found = [row["exit_code"] for row in exit_codes_read if row["job_name"] == printed]
    assert found == [EXIT_CODES[printed]]


def test_columns_and_states_of_the_newest_slurm(tmp_path: Any) -> None:
    new = {"SLUID": "s1", "OriginalSLUID": "s0", "Exclusive": "NODE", "OverSubscribe": "NO", "SegmentSize": "4"}
    records = [
        {**new, "JobID": str(number), "State": state}
        for number, state in enumerate(["EXPEDITING", "REQUEUE_HOLD", "COMPLETED", "REQUEUE_FED", "SPECIAL_EXIT"], 1)
    ]
    con = load(make(tmp_path, {"c1/sacct/a.psv": export(records)}))
    assert counts(con) == (6, 5, 1, 0)
    assert {row["sluid"] for row in attempts(con)} == {"s1"}
