"""Results of checks: spans of unchanged results, times and codes. Their forms are rows of `health.toml`."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

from assets.sources.health import reader as health
from assets.sources.translations.result_lines import utc_of, xids_in
from tests.logs import result_line
from tests.sources.batches import read
from tests.sources.folders import load, make, rows


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


def test_an_odd_line_costs_only_itself_however_the_file_is_read(tmp_path: Path) -> None:
    """The line makes the file go to the reader of lines. The other lines give the same rows as without it."""
    good = [result_line("n1", 1714554000.0 + number, "xid errors", 0, "ok") for number in range(3)]
    loaded = {}
    for name, lines in {"good": good, "odd": [*good, result_line("n1", 1714554000.0, started=1714557600.0)]}.items():
        folder = make(tmp_path / name, {"c1/health/a.jsonl": "".join(f"{line}\n" for line in lines)})
        con = load(folder, readers={"health": health})
        loaded[name] = rows(con, "select * from raw.health_checks order by all")
        assert rows(con, "select quarantined from ops.files") == [{"quarantined": int(name == "odd")}]
    assert loaded["odd"] == loaded["good"]


def test_times_and_xids() -> None:
    moment = datetime(2024, 5, 1, 10)
    for written in (1714557600, 1714557600000, "1714557600", "2024-05-01T10:00:00Z", "2024-05-01T12:00:00+02:00",
                    {"$date": {"$numberLong": "1714557600000"}}):  # fmt: skip
        assert utc_of(written) == moment, written
    wrong: Any
    for wrong in (None, "", "yesterday", True, 1e30, {}, "9" * 18):
        assert utc_of(wrong) is None or utc_of(wrong) != moment
    assert xids_in("no xid here: PCI 0000:9b") == ()
    assert xids_in("Xid (PCI:0002:00:00): 119 and XID error: 79") == (119, 79)
