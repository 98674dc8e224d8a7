"""Accounting exports read as whole files come to what they do line by line, whatever is in the files."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
import zstandard

from assets.sources.intake.read import odd_lines
from assets.sources.sacct import reader as sacct
from assets.sources.sacct import whole_files as sacct_whole
from assets.warehouse import create_raw_and_ops
from tests.logs import BASE
from tests.sources.folders import connect, load, make, rows
from tests.sources.test_sacct_cases import CASES, content_of, file_of

TABLES = {
    "raw.sacct": "*",
    "raw.node_lists": "*",
    "ops.files": "* exclude (run_id)",
    "ops.skips": "*",
    "ops.quarantine": "*",
}
HEADER = "|".join(BASE)


def record(number: int, **more: str) -> str:
    return "|".join({**BASE, "JobID": str(number), "JobIDRaw": str(number), **more}.values())


def text(lines: Sequence[str], header: str = HEADER) -> str:
    return "\n".join([header, *lines]) + "\n"


def many(count: int, seed: int = 1) -> list[str]:
    """Records of every kind that needs no second look: attempts, steps, placeholders and wrong values."""
    generator = random.Random(seed)
    return [
        record(
            number,
            JobID=generator.choice([f"{number}"] * 9 + [f"{number}.batch", f"{number}_[1-3]", f"{number}_7", "7x"]),
            JobIDRaw=generator.choice([str(number)] * 9 + ["7y"]),
            State=generator.choice(["COMPLETED", "NODE_FAIL", "CANCELLED by 1001", "PENDING", "RUNNING", "STRANGE"]),
            Cluster=generator.choice(["c1"] * 50 + ["c2"]),
            Start=generator.choice(["2024-05-01T10:00:00"] * 9 + ["Unknown", "", "yesterday", "1714557600"]),
            End=generator.choice(["2024-05-01T11:00:00"] * 9 + ["Unknown", "2023-01-01T00:00:00"]),
            NodeList=generator.choice(["node001", "node[002-005]", "None assigned", "", "node[9"]),
            SubmitLine=generator.choice(
                ["sbatch train.sh", 'sbatch -x node001 "a"', "sbatch --exclude=node7 é.sh", ""]
            ),
            AllocTRES=generator.choice(["cpu=64,gres/gpu=8", "", "cpu=64", "what"]),
        )
        for number in range(1, count + 1)
    ]


def tables(folder: Path, con: duckdb.DuckDBPyConnection) -> dict[str, list[dict[str, Any]]]:
    load(folder, con)
    return {table: rows(con, f"select {columns} from {table} order by all") for table, columns in TABLES.items()}


def read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str | bytes], settings: str = "", threads: int = 1
) -> list[str]:
    """Read files both ways, compare every row and account, and name the files that were read as a whole."""
    names = []

    def watched(con: Any, by_id: Any, *others: Any) -> None:
        sacct_whole.take(con, by_id, *others)
        ids = con.execute("select file_id from taken_files order by file_id").fetchall()
        names.extend(by_id[file_id].absolute.name for (file_id,) in ids)

    folder = make(
        tmp_path, {"c1/cluster.toml": settings, **{f"c1/sacct/{name}": content for name, content in files.items()}}
    )
    con = duckdb.connect(config={"threads": threads})
    con.execute("set timezone = 'UTC'")
    create_raw_and_ops(con)
    monkeypatch.setattr(sacct, "take", watched)
    at_once = tables(folder, con)
    assert con.execute("select current_setting('threads')").fetchone() == (threads,)
    monkeypatch.setattr(sacct, "take", lambda con, _files, *others: sacct_whole.take(con, {}, *others))
    line_by_line = tables(folder, connect())
    for table, expected in line_by_line.items():
        assert at_once[table] == expected, table
    return names


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles"])
def test_whole_files_come_to_what_their_lines_do(zone, tmp_path, monkeypatch):
    files: dict[str, str | bytes] = {f"{number}.txt": text(many(400, number)) for number in range(3)}
    files["open.txt"] = text(many(20)).removesuffix("\n")
    files["marked.txt"] = "\ufeff" + text(many(20))
    files["only header.txt"] = HEADER
    files["it's.txt"] = text(many(20))
    assert sorted(read(tmp_path, monkeypatch, files, f'timezone = "{zone}"')) == sorted(files)


def test_exports_of_several_layouts_in_one_batch(tmp_path, monkeypatch):
    plain = [record(number) for number in range(1, 9)]
    files: dict[str, str | bytes] = {
        "a.txt": text(plain),
        "c.txt": text([f"{line}|" for line in plain], f"{HEADER}|"),
        "d.txt": text([f"{line}|{'x' if n % 2 else 'train'}" for n, line in enumerate(plain)], f"{HEADER}|Partition"),
        "e.txt": text(plain),
    }
    delimiters = {"semicolon.txt": ";", "tab.txt": "\t", "unit.txt": "\x1f", "comma.txt": ","}
    for name, delimiter in delimiters.items():
        files[name] = text(plain).replace("|", delimiter).replace("cpu=64,", "")
    assert sorted(read(tmp_path, monkeypatch, files)) == sorted(files)


ODD_LINES = {
    "blank": "",
    "spaces": "  ",
    "one field": "x",
    "too few": record(7).rpartition("|")[0],
    "too many": record(7, JobName="a|b"),
    "two lines": record(7, JobName="a\nb"),
    "header": HEADER,
    "another header": "|".join(reversed(BASE)),
    "carriage return": record(7) + "\r",
    "return inside": record(7, JobName="a\rb"),
    "replaced": record(7, JobName="a\ufffdb"),
    "no text": record(7).encode() + b"\xff",
    "nul": record(7, JobName="\0"),
    "error": "sacct: error: slurmdbd is not there",
    "megabytes": record(7, SubmitLine="x" * 3_000_000),
    "no submit": record(7, Submit=""),
}


NEED_LINES = {"header", "another header", "carriage return", "return inside", "megabytes", "no submit"}
"""Those of them for which the whole file is read by lines."""


def test_odd_lines_alone_are_read_by_lines(tmp_path, monkeypatch):
    before, behind = text(many(30)).encode(), "\n".join(many(30, 2)).encode()
    files: dict[str, str | bytes] = {"a.txt": text(many(50, 3)), "p.txt": text(many(50, 4))}
    for name, odd in ODD_LINES.items():
        line = odd if isinstance(odd, bytes) else odd.encode()
        files[f"{name} between.txt"] = before + line + b"\n" + behind
        files[f"{name} at the end.txt"] = before + line + b"\n"
        files[f"{name} left open.txt"] = before + line
        files[f"{name} packed.txt.gz"] = gzip.compress(before + line + b"\n" + behind)
    whole = set(files) - {name for name in files for odd in NEED_LINES if name.startswith(f"{odd} ")}
    assert set(read(tmp_path, monkeypatch, files)) == whole


def test_archives_are_read_as_whole_files(tmp_path, monkeypatch):
    files: dict[str, str | bytes] = {
        "a.txt.gz": gzip.compress(text(many(300)).encode()),
        "b.txt.zst": zstandard.compress(text(many(300, 2)).encode()),
        "cut off.txt.gz": gzip.compress(text(many(300, 3)).encode())[:-200],
    }
    assert read(tmp_path, monkeypatch, files) == ["a.txt.gz", "b.txt.zst"]


def test_odd_lines_at_random_places(tmp_path, monkeypatch):
    """Several in a row, some of them one record together, at the top, at the end and at the edge of what is read."""
    generator = random.Random(5)
    monkeypatch.setattr(odd_lines, "BLOCK", 1000)
    files: dict[str, str | bytes] = {}
    odd = [line for name, line in ODD_LINES.items() if isinstance(line, str) and name not in NEED_LINES]
    for number in range(12):
        lines: list[str] = []
        for line in many(generator.randrange(40), number):
            lines += generator.choices(odd, k=generator.choice([0, 0, 0, 1, 1, 3]))
            lines.append(line)
        files[f"{number:02}.txt"] = text(lines)
    assert read(tmp_path, monkeypatch, files) == sorted(files)


def test_very_many_odd_lines_send_a_file_to_the_reader_of_lines(tmp_path, monkeypatch):
    monkeypatch.setattr(odd_lines, "max_odd_count", lambda line_count: 0.05 * line_count)
    files: dict[str, str | bytes] = {
        "few.txt": text([*many(400), *["x"] * 15]),
        "many.txt": text([*many(400), *["x"] * 60]),
    }
    assert read(tmp_path, monkeypatch, files) == ["few.txt"]
    monkeypatch.setattr(odd_lines, "MAX_ODD_BYTES", 10)
    assert read(tmp_path / "less", monkeypatch, files) == []


def test_lines_that_make_up_for_each_other_are_noticed(tmp_path, monkeypatch):
    """As many records as lines, though a blank line gives none and another gives two."""
    files: dict[str, str | bytes] = {"a.txt": text([record(1), "", f"{record(2)}\r{record(3)}", record(4)])}
    assert read(tmp_path, monkeypatch, files) == []


def test_quotes_mean_nothing(tmp_path, monkeypatch):
    names = ['"a', 'a"b', '""', "'", "\\", '"a"']
    files: dict[str, str | bytes] = {"a.txt": text([record(n, JobName=name) for n, name in enumerate(names, 1)])}
    assert read(tmp_path, monkeypatch, files) == ["a.txt"]


@pytest.mark.parametrize("threads", [pytest.param(1, marks=pytest.mark.slow), 4])
def test_line_numbers_are_exact_over_many_large_files(threads, tmp_path, monkeypatch):
    """Larger than DuckDB's parallel units, small ones between."""
    counts = [9_000, 1, 0, 2_500, 2]
    wide = "x" * 4000
    files: dict[str, str | bytes] = {
        f"{n}.txt": text([record(line, SubmitLine=f"{line} {wide}") for line in range(1, count + 1)])
        for n, count in enumerate(counts)
    }
    folder = make(tmp_path, {f"c1/sacct/{name}": content for name, content in files.items()})
    con = duckdb.connect(config={"threads": threads})
    con.execute("set timezone = 'UTC'")
    create_raw_and_ops(con)
    load(folder, con)
    found = con.execute("select split_part(path, '/', 3), max(line_number) from raw.sacct group by all order by all")
    assert found.fetchall() == [(f"{n}.txt", count + 1) for n, count in enumerate(counts) if count]
    assert con.execute("select count(*) from raw.sacct where line_number <> job_id_raw + 1").fetchone() == (0,)


SETTINGS = sorted({json.dumps(case.get("config", {})) for case in CASES if "error" not in case})
"""What cluster.toml says in the cases; those of the same settings are read as files of one cluster."""


@pytest.mark.parametrize("settings", SETTINGS)
def test_awkward_records_come_to_what_their_lines_do(settings, tmp_path, monkeypatch):
    files: dict[str, str | bytes] = {
        file_of(case): content_of(case)
        for case in CASES
        if "error" not in case and json.dumps(case.get("config", {})) == settings
    }
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in json.loads(settings).items())
    read(tmp_path, monkeypatch, {**files, "regular.txt": text(many(9))}, lines)
