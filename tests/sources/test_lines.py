"""Lines keep their numbers and their text, whatever bytes they have."""

import random

import duckdb
import pytest

from assets.sources.intake.read import lines
from assets.sources.intake.read.copies import write_copy
from assets.sources.intake.read.lines import inspect, read_lines


def lines_of(paths):
    con = duckdb.connect()
    read_lines(con, dict(enumerate(paths)))
    return con


def test_line_numbers_are_exact_over_many_large_files(tmp_path):
    """Some files exceed DuckDB's parallel units, some are small, and some have blank lines or no newline at the end."""
    generator = random.Random(1)
    paths, counts = [], [60_000, 1, 3, 0, 90_000, 2, 40_000]
    for number, count in enumerate(counts):
        path = tmp_path / f"{number}.txt"
        with path.open("w") as file:
            for line in range(1, count + 1):
                file.write("\n" if line % 97 == 0 else f"{number}|{line}|{'x' * generator.randint(0, 500)}\n")
            file.write("last line without end" if count == 3 else "")
        paths.append(path)
    con = duckdb.connect(config={"threads": 4})
    read_lines(con, dict(enumerate(paths)))
    found = dict(con.execute("select file_id, max(line_number) from lines group by 1").fetchall())
    assert found == {number: count + (count == 3) for number, count in enumerate(counts) if count}
    wrong = con.execute(
        "select count(*) from lines where line like '%|%|%' "
        "and split_part(line, '|', 1) || '|' || split_part(line, '|', 2) <> file_id || '|' || line_number"
    ).fetchone()
    assert wrong == (0,)
    assert con.execute("select count(*) from lines where line is null").fetchone() == (sum(c // 97 for c in counts),)


def test_text_is_kept_as_it_is(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes('\ufeffa|"1\r\n\r\n  \r\n\t\r\n  indented\r\nlast "quote\\|3,'.encode())
    con = lines_of([path])
    found = con.execute("select line from lines order by line_number").fetchall()
    assert [line for (line,) in found] == ['a|"1', None, None, None, "  indented", 'last "quote\\|3,']


def test_bytes_that_are_no_text_are_replaced_in_a_copy(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\nb\xff\xfed\nnul\0nul\n\x01\x02\x03\x04|\n" + b"good\n" * 20)
    assert not inspect(path, "a.txt").is_plain
    copy = write_copy(path, tmp_path / "copy.txt")
    assert copy.has_bad_bytes
    found = lines_of([copy.path]).execute("select line from lines order by line_number").fetchall()
    assert [line for (line,) in found][:5] == ["good", "b\ufffd\ufffdd", "nulnul", "\ufffd|", "good"]


@pytest.mark.parametrize(
    ("content", "is_plain"),
    [(b"ab\xc3\xbccd\n", True), (b"abc\xc3\xbcd\n", True), (b"abc\xc3defgh\n", False), (b"abcdefgh\xc3", False)],
    ids=["whole", "cut by a chunk", "half a character", "half at the end"],
)
def test_characters_that_are_cut_by_a_chunk_are_text(content, is_plain, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "CHUNK", 4)
    path = tmp_path / "checks.jsonl"
    path.write_bytes(content)
    assert inspect(path, "checks.jsonl").is_plain is is_plain
