"""Publication: readers see the old file or the new one, and a full disk changes nothing."""

import duckdb
import pytest

from orchestration import publish


@pytest.fixture
def files(tmp_path):
    source, target = tmp_path / "work" / "faultline.duckdb", tmp_path / "warehouse" / "faultline.duckdb"
    for path, value in ((source, 2), (target, 1)):
        path.parent.mkdir()
        with duckdb.connect(str(path)) as con:
            con.execute(f"create table t as select {value} as v")
    return source, target


def test_an_open_reader_keeps_what_it_opened(files):
    source, target = files
    reader = duckdb.connect(str(target), read_only=True)
    publish.replace_files([(source, target)])
    assert reader.execute("select v from t").fetchall() == [(1,)]
    reader.close()
    with duckdb.connect(str(target), read_only=True) as con:
        assert con.execute("select v from t").fetchall() == [(2,)]


def test_a_copy_that_fails_replaces_nothing(files, monkeypatch, tmp_path):
    source, target = files
    report = tmp_path / "index.html"
    report.write_text("new")
    old_report = tmp_path / "reports" / "index.html"
    old_report.parent.mkdir()
    old_report.write_text("old")
    copyfile = publish.shutil.copyfile

    def full(src, dst):
        if src == report:
            raise OSError(28, "No space left on device")
        return copyfile(src, dst)

    monkeypatch.setattr(publish.shutil, "copyfile", full)
    with pytest.raises(OSError, match="No space left"):
        publish.replace_files([(source, target), (report, old_report)])
    assert old_report.read_text() == "old"
    with duckdb.connect(str(target), read_only=True) as con:
        assert con.execute("select v from t").fetchall() == [(1,)]
    assert [path.name for path in target.parent.iterdir()] == [target.name]
