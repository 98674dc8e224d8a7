"""Health checks read as whole files come to what they do line by line, whatever is in the files."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest
import zstandard

from assets.sources.batch_tables import COUNTED_SKIPS, TAKEN_FILES
from assets.sources.health import reader as health
from assets.sources.health import whole_files as health_whole
from assets.sources.intake.read import odd_lines
from assets.sources.intake.read.copies import CopiesInFolder
from assets.sources.intake.read.lines import inspect
from assets.sources.inventory import reader as inventory
from assets.sources.reader import SourceFile
from assets.sources.settings import ClusterSettings
from tests.logs import result_line
from tests.sources.batches import TESTBED
from tests.sources.cases import CASES
from tests.sources.folders import MODIFIED, connect, load, load_results, make, rows

READERS = {"inventory": inventory, "health": health}
NODES = "".join(f"NodeName=n{number} Arch=x86_64 CPUTot=8 NodeAddr=n{number} State=IDLE\n" for number in range(5))
TABLES = {
    "raw.health_checks": "*",
    "ops.files": "* exclude (run_id)",
    "ops.skips": "*",
    "ops.quarantine": "*",
}


def record(second: float, node: str = "n1", check: str = "check pci", code: Any = 0, **more: Any) -> str:
    message = more.pop("message", "All are as expected.")
    return result_line(node, 1795219200.5 + second, check, code, message, started=1795219200.1 + second, **more)


def many(count: int, seed: int = 1) -> list[str]:
    """Records of two days and two nodes, most of them good, in the order of time but for a few."""
    generator = random.Random(seed)
    moments = sorted(generator.randint(0, 100_000) + generator.choice([0, 0.125]) for _ in range(count))
    generator.shuffle(moments[: count // 10])
    return [
        record(
            moment,
            generator.choice(["n1", "n2"]),
            generator.choice(["check pci", "service status", "check ssd", "check_lbnl"]),
            0 if generator.random() < 0.995 else generator.choice([1, 2, 3.0]),
            message=generator.choice(["up"] * 30 + ["GPU 1: XID error: 79", 'é "quoted" \\ \u0000', ""]),
            kind=generator.choice(["nagios"] * 40 + ["prolog", "strange"]),
            job=generator.choice([0] * 40 + [7, 8.0, 9.5]),
        )
        for moment in moments
    ]


def tables(folder: Path) -> dict[str, list[dict[str, Any]]]:
    con = load(folder, readers=READERS)
    return {table: rows(con, f"select {columns} from {table} order by all") for table, columns in TABLES.items()}


def taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Read a folder both ways, compare every row and account, and name the files that were read as a whole."""
    names = []
    original = health_whole.take

    def watched(con: Any, files: Any, *others: Any) -> None:
        original(con, files, *others)
        ids = con.execute("select file_id from taken_files order by file_id").fetchall()
        names.extend(files[file_id].absolute.name for (file_id,) in ids)

    monkeypatch.setattr(health, "take", watched)
    at_once = tables(folder)
    monkeypatch.setattr(health, "take", lambda con, _files, *others: original(con, {}, *others))
    line_by_line = tables(folder)
    for table, expected in line_by_line.items():
        assert at_once[table] == expected, table
    return names


def read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str | bytes]) -> list[str]:
    named = {f"c1/health/{name}": content for name, content in files.items()}
    return taken(make(tmp_path, {"c1/inventory/nodes.txt": NODES, **named}), monkeypatch)


def text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def test_whole_files_come_to_what_their_lines_do(tmp_path, monkeypatch):
    files = {f"{number}.json": text(many(400, number)) for number in range(3)}
    files["open.json"] = "\n".join(many(50))
    files["packed.json.gz"] = gzip.compress(text(many(3000, 9)).encode())
    files["repeated.json"] = files["1.json"]
    assert sorted(read(tmp_path, monkeypatch, files)) == sorted(files)


def test_the_genuine_capture_is_read_whole(tmp_path, monkeypatch):
    capture = (TESTBED / "health" / "health_checks.jsonl").read_bytes()
    assert read(tmp_path, monkeypatch, {"a.jsonl": capture}) == ["a.jsonl"]


def test_awkward_inputs_come_to_what_their_lines_do(tmp_path, monkeypatch):
    files = {}
    for place, case in enumerate(CASES["health"]):
        if case["path"] == "health/file.txt" and case["text"][:1] in "{[C" and "refused" not in case:
            files[f"{place} behind others.json"] = text(many(30)) + case["text"]
            files[f"{place} alone.json"] = case["text"].removesuffix("\n")
    assert len(files) > 20
    read(tmp_path, monkeypatch, files)


GOOD = record(0)
ODD_LINES = {
    "blank": "",
    "spaces": "  ",
    "indented": f"  {GOOD}",
    "text": "OK - all is well",
    "log line": "[2026-11-22 07:34:23,123] - [INFO] - starting",
    "array": f"[{GOOD}, {GOOD}]",
    "empty array": "[]",
    "two on a line": GOOD + GOOD,
    "cut": GOOD[:-30],
    "garbage behind": GOOD + " x",
    "not an object inside": GOOD.replace('"tags": {}', '"tags": {]'),
    "lone surrogate": GOOD.replace("All", "\\ud800"),
    "no node": GOOD.replace('"node"', '"host"'),
    "blank node": GOOD.replace('"n1"', '" "'),
    "null check": GOOD.replace('"check pci"', "null"),
    "other result": GOOD.replace('"result": 0', '"result": 0.4'),
    "true result": GOOD.replace('"result": 0', '"result": true'),
    "result as text": GOOD.replace('"result": 0', '"result": "WARN"'),
    "job as text": GOOD.replace('"job_id": 0', '"job_id": "25"'),
    "job of an array as text": GOOD.replace('"job_id": 0', '"job_id": "25_4"'),
    "no message": GOOD.replace('"_msg"', '"message"'),
    "no job": GOOD.replace('"job_id": 0', '"jobid": 7'),
    "flat job": GOOD.replace('"job_id": 0', '"jobid": 7').replace('"tags"', '"job_id"').replace("{}", "8"),
    "flat": json.dumps(
        {"node": "n2", "health_check": "check pci", "type": "prolog", "result": 1, "end_time": 1795219200}
    ),
    "milliseconds": GOOD.replace("1795219200.1", "1795219200100").replace("1795219200.5", "1795219200500"),
    "ISO time": GOOD.replace("1795219200.5", '"2026-11-22T07:34:23Z"'),
    "time as words": GOOD.replace("1795219200.5", '"today"'),
    "no start": GOOD.replace("1795219200.1", "0"),
    "endless": GOOD.replace("1795219200.5", "Infinity"),
    "true time": GOOD.replace("1795219200.5", "true"),
    "carriage return at the end": GOOD + "\r",
    "carriage return inside": GOOD.replace('"tags"', '\r"tags"'),
    "control character": GOOD.replace("All", "\x02"),
    "delimiter": GOOD.replace("All", "\x01\x02\x03\x04"),
    "NUL": GOOD.replace("All", "\x00"),
    "NUL behind": GOOD + "\x00",
    "NUL between": GOOD.replace('"tags"', '\x00"tags"'),
    "delimiter behind": GOOD + "\x01\x02\x03\x04",
    "long": GOOD.replace("All", "x" * 700_000),
    "long noise": GOOD.replace("All", random.Random(1).randbytes(350_000).hex()),
}


NO_JSON = {
    *("blank", "spaces", "indented", "text", "log line", "two on a line", "cut", "garbage behind"),
    *("not an object inside", "lone surrogate", "control character", "NUL behind", "NUL between", "delimiter behind"),
}
"""Those of them that no reader of JSON takes; each alone is read by lines."""
REPLACED = {"NUL", "delimiter"}
"""Those that give a record as GCM writes it once what is no text is replaced."""


def test_lines_that_are_no_json_alone_are_read_by_lines(tmp_path, monkeypatch):
    lines = many(60)
    files: dict[str, str | bytes] = {"regular.json": text(many(70, 2))}
    for name, line in ODD_LINES.items():
        odd = text([*lines[:20], line, *lines[20:]]).encode()
        files |= {f"{name}.json": odd, f"{name}.json.gz": gzip.compress(odd)}
    whole = {f"{name}.json{packed}" for name in NO_JSON | REPLACED for packed in ("", ".gz")}
    assert set(read(tmp_path, monkeypatch, files)) == {"regular.json", *whole}


def test_lines_that_are_no_json_at_random_places(tmp_path, monkeypatch):
    """At the top, at the end, several in a row, at the edge of what is read, and inside unchanged results."""
    generator = random.Random(7)
    monkeypatch.setattr(health_whole, "CHUNK", 1000)
    monkeypatch.setattr(odd_lines, "BLOCK", 1000)
    files: dict[str, str | bytes] = {}
    odd = [ODD_LINES[name] for name in sorted(NO_JSON)]
    for number in range(12):
        lines: list[str] = []
        for line in many(generator.randrange(80), number):
            lines += generator.choices(odd, k=generator.choice([0, 0, 0, 1, 1, 3]))
            lines.append(line)
        content = text([*lines, *generator.choices(odd, k=2)]).encode()
        files[f"{number:02}.json"] = content.removesuffix(b"\n") if number % 2 else content
        files[f"{number:02}.json.gz"] = gzip.compress(content)
    files["03.json"] = b"\xff\n" + bytes(files["02.json"])
    assert set(read(tmp_path, monkeypatch, files)) == set(files)


def test_very_many_lines_without_json_send_a_file_to_the_reader_of_lines(tmp_path, monkeypatch):
    """Those that begin and end with a brace are found by the scan alone."""
    files: dict[str, str | bytes] = {
        f"{name}.json": text([*many(400), *[ODD_LINES[name]] * 60]) for name in ("text", "not an object inside")
    }
    assert sorted(read(tmp_path, monkeypatch, files)) == sorted(files)
    monkeypatch.setattr(odd_lines, "MAX_ODD_BYTES", 10)
    assert read(tmp_path / "large", monkeypatch, files) == []
    monkeypatch.undo()
    monkeypatch.setattr(odd_lines, "max_odd_count", lambda line_count: 0.05 * line_count)
    assert read(tmp_path / "many", monkeypatch, files) == []


SAME_LINES = {
    "twice the same key": GOOD.replace('"result": 0', '"result": 0, "result": 2').replace('"tags"', '"int"'),
    "number as text": GOOD.replace("1795219200.5", '"1795219200.5"'),
    "trailing comma": GOOD.replace("{}}", "{},}"),
    "spaces behind": GOOD + " \t ",
    "unknown fields": GOOD.replace("{}", '{"a": [1, {"node": "n2"}]}'),
    "flat beside nested": GOOD.replace('"tags": {}', '"node": "n2", "result": 2, "time": 1'),
    "escapes": GOOD.replace("All", "\\u00e9\\ud83d\\ude00\\n\\u0000\\/"),
    "UTF-8": GOOD.replace("All", "é😀"),
    "great number": GOOD.replace('"job_id": 0', '"job_id": 123456789012345678901234567890'),
}


def test_what_json_allows_is_read_whole(tmp_path, monkeypatch):
    lines = many(60)
    files: dict[str, str | bytes] = {f"{name}.json": text([*lines, line]) for name, line in SAME_LINES.items()}
    assert sorted(read(tmp_path, monkeypatch, files)) == sorted(files)


PACKED = gzip.compress(text(many(300)).encode())
NOISE = text([record(number, message=random.Random(number).randbytes(40).hex()) for number in range(3000)])
BAD_SUM = bytearray(gzip.compress(NOISE.encode()))
BAD_SUM[-6] ^= 1
DAMAGED = {
    "cut": PACKED[:-30],
    "followed by text": PACKED + b"text",
    "checksum": bytes(BAD_SUM),
    "bad bytes": gzip.compress(text(many(30)).encode().replace(b"up", b"\xff", 1)),
    "half a character": gzip.compress(text(many(30)).encode() + b"\xc3"),
    "replacement": gzip.compress(text(many(30)).replace("up", "\ufffd", 1).encode()),
    "byte order mark": gzip.compress(b"\xef\xbb\xbf" + text(many(30)).encode()),
}


def test_an_archive_that_is_damaged_is_read_line_by_line(tmp_path, monkeypatch):
    """Of what is no text alone, a clean copy is read as a whole."""
    files = {f"{name}.json.gz": archive for name, archive in DAMAGED.items()}
    names = ("bad bytes", "half a character", "replacement", "byte order mark")
    whole = {f"{name}.json.gz" for name in names}
    assert set(read(tmp_path, monkeypatch, files)) == whole


ARCHIVES = {
    "two.json.gz": PACKED + PACKED,
    "padded.json.gz": PACKED + b"\0" * 512,
    "comment.json.gz": PACKED[:3] + b"\x10" + PACKED[4:10] + b"why\0" + PACKED[10:],
    "pattern[1].json.gz": PACKED,
    "modern.json.zst": zstandard.compress(text(many(300)).encode()),
}


def test_any_whole_archive_is_read_whole(tmp_path, monkeypatch):
    assert sorted(read(tmp_path, monkeypatch, dict(ARCHIVES))) == sorted(ARCHIVES)


def test_paths_that_are_patterns_are_read_whole(tmp_path, monkeypatch):
    files = {"b*.json": text(many(20)), "c.json": text(many(20))}
    assert sorted(read(tmp_path, monkeypatch, files)) == ["b*.json", "c.json"]


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_line_numbers_are_exact_over_many_large_files(threads, tmp_path, monkeypatch):
    """Larger than DuckDB's parallel units, small ones between, in an order that is not that of their names."""
    padding = "x" * 900
    counts = {"d": 40_000, "a": 1, "c": 3, "e": 12_000, "b": 2}
    for name, count in counts.items():
        lines = (record(number, check="check_a", message=padding, job=number + 1) for number in range(count))
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    found = {name: inspect(tmp_path / name, name).object_lines for name in counts}
    assert found == counts
    con = duckdb.connect(config={"threads": threads})
    TAKEN_FILES.create(con)
    COUNTED_SKIPS.create(con)
    files = {
        number: SourceFile(
            "c1",
            "health",
            name,
            tmp_path / name,
            size_bytes=1,
            modified_at=MODIFIED,
            dialect="gcm",
            is_plain=True,
            object_lines=lines,
        )
        for number, (name, lines) in enumerate(found.items(), 10)
    }
    health_whole.take(con, files, ClusterSettings(cluster_id="c1"), CopiesInFolder(tmp_path))
    assert con.execute("from taken_files order by all").fetchall() == list(zip(files, counts.values(), strict=True))
    wrong = con.execute("select count(*) from health_whole where job_id_raw <> line_number")
    assert wrong.fetchone() == (0,)
    placed = con.execute("select file_id, count(*) from health_whole group by 1")
    assert dict(placed.fetchall()) == dict(zip(files, counts.values(), strict=True))
    settings = "select current_setting('threads'), current_setting('preserve_insertion_order')"
    assert con.execute(settings).fetchone() == (threads, True)


def test_a_line_lost_beside_lines_that_are_only_counted_is_found_out(tmp_path, monkeypatch):
    original = health_whole.take

    def loses(con: Any, files: Any, *others: Any) -> None:
        original(con, files, *others)
        if not files:
            return
        assert con.execute("from counted_skips").fetchall() == [(0, "unchanged", 2)]
        con.execute("delete from health_whole where line_number = 1")

    monkeypatch.setattr(health, "take", loses)
    folder = make(
        tmp_path,
        {"c1/inventory/nodes.txt": NODES, "c1/health/a.jsonl": text([record(second) for second in (0, 60, 120, 180)])},
    )
    con = connect()
    (warning,) = load_results(folder, con, READERS)["health"].warnings
    assert warning == (
        "c1/health/a.jsonl: read line by line, as it failed otherwise "
        "(AssertionError: health: c1/health/a.jsonl: 4 lines read as a whole, 3 outcomes)"
    )
    assert con.execute("select loaded, skipped from ops.files where kind = 'health'").fetchone() == (2, 2)
