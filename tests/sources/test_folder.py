"""A sources folder that cannot be used says what is wrong, where, and what to do: everything at once, a line each."""

import gzip
from pathlib import Path

import pytest

from assets.sources import lines
from assets.sources.errors import SourceErrors
from assets.sources.folder import survey
from assets.sources.formats import READERS
from tests.sources.folders import ONLY_SACCT, export, load, make

GOOD = export([{}])


def errors_of(folder, readers=ONLY_SACCT):
    with pytest.raises(SourceErrors) as caught:
        survey(folder, readers)
    text = str(caught.value)
    assert len(text.splitlines()) == len(caught.value.errors), "one line per error"
    return text


def test_a_missing_folder(tmp_path):
    text = errors_of(tmp_path / "none")
    assert text == f"{tmp_path / 'none'}: the sources folder does not exist. Create it or name another with --sources."


def test_a_folder_without_clusters(tmp_path):
    (tmp_path / "notes.txt").write_text("nothing")
    assert "no cluster folder in it" in errors_of(tmp_path)


def test_a_file_in_place_of_the_folder(tmp_path):
    (tmp_path / "file").write_text("nothing")
    assert "unreadable (Not a directory)" in errors_of(tmp_path / "file")


def test_the_folder_of_one_cluster(tmp_path):
    make(tmp_path, {"c1/sacct/a.txt": GOOD})
    assert f"Name the folder above it: {tmp_path}." in errors_of(tmp_path / "c1")


@pytest.mark.parametrize("files", [{"c1/kernel/a.log": "x"}, {"c1/sacct/.hidden": "x"}])
def test_a_cluster_without_accounting(files, tmp_path):
    assert "c1/sacct: no accounting export there" in errors_of(make(tmp_path, files))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty file"),
        (b"\n\r\n  \n", "empty file"),
        (bytes(range(256)) * 40, "binary file, not a log"),
        (GOOD.encode("utf-16"), "binary file (UTF-16 text)"),
        (b"51|51|COMPLETED\n", "no_header: the first line does not name the columns"),
        (b"JobID|State\n51|FAILED\n", "missing_columns: Submit, Start, End not among the columns"),
        (b"sacct: error: Problem talking to the database\n", "command_error_output: holds sacct's error message"),
        (b'{"jobs": []}\n', "unsupported_schema: accounting as JSON is not read"),
    ],
)
def test_a_file_that_is_no_export(content, message, tmp_path):
    folder = make(tmp_path, {"c1/sacct/a.txt": content})
    text = errors_of(folder)
    assert text.startswith(f"c1/sacct/a.txt: {message}")
    with pytest.raises(SourceErrors):
        load(folder)


def test_an_archive_that_is_none(tmp_path):
    assert "not an archive" in errors_of(make(tmp_path, {"c1/sacct/a.txt.gz": b"plain text"}))
    assert "empty file" in errors_of(make(tmp_path, {"c1/sacct/a.txt.gz": gzip.compress(b"")}))


def test_an_unreadable_file(tmp_path, monkeypatch):
    folder = make(tmp_path, {"c1/sacct/a.txt": GOOD})
    (folder / "c1/sacct/gone.txt").symlink_to(tmp_path / "nowhere")
    assert "c1/sacct/gone.txt: unreadable (No such file or directory)" in errors_of(folder)
    (folder / "c1/sacct/gone.txt").unlink()

    def refuse(_path: Path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(lines, "_scan", refuse)
    assert errors_of(folder).startswith("c1/sacct/a.txt: unreadable (Permission denied). Make it readable")


def test_all_errors_are_told_at_once(tmp_path):
    text = errors_of(
        make(
            tmp_path,
            {
                "c1/sacct/a.txt": "",
                "c1/sacct/b.txt": GOOD,
                "c1/cluster.toml": 'timezone = "Mars/Olympus"\nunheard_of = 1\n',
                "c2/sacct/a.txt": "51|51\n",
                "c3/health/a.jsonl": "{}",
            },
        )
    )
    assert len(text.splitlines()) == 5
    for part in ("c1/sacct/a.txt: empty", "'Mars/Olympus'", "'unheard_of'", "c2/sacct/a.txt: no_header", "c3/sacct"):
        assert part in text


def test_folders_without_meaning_are_told_and_notes_are_not_read(tmp_path):
    folder = make(
        tmp_path,
        {"c1/sacct/a.txt": GOOD, "c1/sacct/README.md": "#", "c1/sacct/.b.txt.swp": "x", "c1/kernal/a.log": "x"},
    )
    found = survey(folder, READERS)
    assert [file.path for file in found.files] == ["c1/sacct/a.txt"]
    assert found.warnings[0].startswith("c1/kernal: not read; folders with a meaning are sacct, health, kernel")


def test_files_in_folders_below(tmp_path):
    con = load(make(tmp_path, {"c1/sacct/2024/05/a [1].txt": GOOD}))
    assert con.execute("select path, loaded from ops.files").fetchall() == [("c1/sacct/2024/05/a [1].txt", 1)]
