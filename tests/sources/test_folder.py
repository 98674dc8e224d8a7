"""What of a sources folder cannot be used is told, with where and what to do; it stops no other file or cluster."""

import gzip
import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
import zstandard

from assets.sources.errors import SourceErrors
from assets.sources.formats import READERS
from assets.sources.intake.account.doubtful_files import mark_doubtful_files
from assets.sources.intake.cluster_failures import failing_by_sources
from assets.sources.intake.find.folder import survey
from assets.sources.intake.read import lines
from assets.sources.intake.read.batch_lines import CUT_LINES
from assets.sources.sacct import reader as sacct
from assets.sources.settings import KINDS
from tests.logs import export, numbered
from tests.sources.folders import ONLY_SACCT, connect, facts, load, load_results, make, rows

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
        (b"JobID|Submit|Start|End\n51|1|2|3\n", "missing_columns: State not among the columns"),
        (b"JobName|State|Submit|Start|End\nx|FAILED|1|2|3\n", "missing_columns: JobIDRaw not among the columns"),
        (
            b"Job\xe9ID|JobName|State|Submit|Start|End\n",
            "missing_columns: JobIDRaw not among the columns; bytes that are no UTF-8 in Job\ufffdID",
        ),
        (
            b"JobID|Node\xe9List|State|Submit|Start|End\n",
            "missing_columns: bytes that are no UTF-8 in Node\ufffdList",
        ),
        (b"sacct: error: Problem talking to the database\n", "command_error_output: holds sacct's error message"),
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


def test_all_errors_are_told_at_once_where_no_cluster_is_left(tmp_path):
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
    assert len(text.splitlines()) == 4
    for part in ("'Mars/Olympus'", "'unheard_of'", "c2/sacct/a.txt: no_header", "c3/sacct"):
        assert part in text


def test_folders_without_meaning_are_told_and_notes_are_not_read(tmp_path):
    folder = make(
        tmp_path,
        {"c1/sacct/a.txt": GOOD, "c1/sacct/README.md": "#", "c1/sacct/.b.txt.swp": "x", "c1/kernal/a.log": "x"},
    )
    found = survey(folder, READERS)
    assert [file.path for file in found.files] == ["c1/sacct/a.txt"]
    (warning,) = map(str, found.warnings)
    assert warning.startswith("c1/kernal: not read: its name is no kind of log. Rename it to one of sacct, health")


def test_files_beside_the_folders_of_logs_are_told(tmp_path):
    folder = make(tmp_path, {"c1/sacct/a.txt": GOOD, "c1/cluster.toml": "", "c1/kern.log": "x", "c1/README.md": "#"})
    found = survey(folder, READERS)
    (warning,) = map(str, found.warnings)
    assert warning.startswith("c1/kern.log: not read: it lies beside the folders of logs. Move it into the folder of")


def test_a_folder_of_logs_that_is_a_link_to_nowhere_is_refused(tmp_path):
    folder = make(tmp_path, {"c1/sacct/a.txt": GOOD, "c2/sacct/a.txt": GOOD, "c2/kernel": "a file"})
    (folder / "c1" / "kernel").symlink_to("/nonexistent/kernel")
    (folder / "c3").mkdir()
    (folder / "c3" / "sacct").symlink_to("/nonexistent/sacct")
    found = survey(folder, READERS)
    assert [str(refused.error).split(". ")[0] for refused in found.refused] == [
        "c1/kernel: unreadable (No such file or directory)",
        "c2/kernel: not a folder but a file",
        "c3/sacct: unreadable (No such file or directory)",
    ]
    assert list(found.failing) == ["c3"]


def test_a_cluster_that_is_a_link_to_nowhere_is_left_out_and_stops_no_other(tmp_path):
    folder = make(tmp_path, {"c1/sacct/a.txt": GOOD})
    (folder / "c2").symlink_to("/nonexistent/c2")
    (folder / "c3").symlink_to("c3")
    found = survey(folder, READERS)
    assert list(found.clusters) == ["c1"]
    assert {name: str(error).split(". ")[0] for name, (error,) in found.failing.items()} == {
        "c2": "c2: unreadable (No such file or directory)",
        "c3": "c3: unreadable (Too many levels of symbolic links)",
    }


def test_files_in_folders_below(tmp_path):
    con = load(make(tmp_path, {"c1/sacct/2024/05/a [1].txt": GOOD}))
    assert con.execute("select path, loaded from ops.files").fetchall() == [("c1/sacct/2024/05/a [1].txt", 1)]


JOURNAL = "Nov 21 07:34:23 node001 kernel: NVRM: Xid (PCI:0000:07:00): 79, pid=1, GPU has fallen off the bus.\n"
ODD_FILES = {
    "c1/kernel/empty.log": (b"", "empty file"),
    "c1/kernel/empty.log.gz": (gzip.compress(b""), "empty file"),
    "c1/kernel/none.log": (b"-- No entries --\n", None),
    "c1/kernel/binary.log": (bytes(range(256)) * 40, "binary file, not a log"),
    "c1/kernel/line.log": (b"x" * 20_000_000 + b"\n" + JOURNAL.encode(), None),
    "c1/kernel/dialect.log": (b"this is\nno log of a kernel\n", "unsupported_schema"),
    "c1/events/error.txt": (b"sacctmgr: error: no connection\n", "command_error_output"),
    "c1/events/header.txt": (b"Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n", None),
    "c1/inventory/nodes.txt": (b"NodeName=node001 CPUTot=64 Gres=gpu:8\nNodeName=\n", None),
}


@pytest.fixture
def odd_folder(tmp_path):
    """A cluster with a good file of accounting among files of every odd kind, and another that is well."""
    folder = make(tmp_path / "s", {name: content for name, (content, _) in ODD_FILES.items()})
    make(folder, {"c1/sacct/a.txt": GOOD, "c1/kernel/good.log": JOURNAL, "c2/sacct/a.txt": GOOD})
    (folder / "c1/kernel/nowhere.log").symlink_to(tmp_path / "nowhere")
    (folder / "c1/kernel/loop.log").symlink_to("loop.log")
    (folder / "c1/kernel/above").symlink_to(folder / "c1")
    (folder / "c1/kernel/above2").symlink_to(folder / "c1/kernel")
    os.mkfifo(folder / "c1/kernel/pipe.log")
    (folder / os.fsdecode(b"c1/kernel/caf\xe9.log")).write_text(JOURNAL)
    return folder


def test_one_odd_file_stops_nothing_and_has_a_row_that_says_why(odd_folder):
    con = connect()
    load_results(odd_folder, con, READERS)
    assert [row[0] for row in facts(con)] == ["c1", "c2"]
    assert con.execute("select count(*) from raw.kernel_messages").fetchone()[0] >= 1
    files = {row["path"]: row for row in rows(con, "select * from ops.files")}
    for name, (_, reason) in ODD_FILES.items():
        if reason:
            assert files[name]["status"] == "refused"
            assert files[name]["reason"].startswith(reason), name
            assert files[name]["next_step"]
            assert (files[name]["lines_in"], files[name]["loaded"]) == (0, 0)
    assert not any("above" in path for path in files)
    for name in ("nowhere.log", "loop.log", "pipe.log", "caf\\udce9.log"):
        assert files[f"c1/kernel/{name}"]["status"] == "refused"
    assert files["c1/kernel/good.log"]["status"] == "read"
    assert failing_by_sources(con, survey(odd_folder, READERS)) == {}


def test_what_was_refused_is_read_once_it_is_mended(odd_folder):
    con = connect()
    load_results(odd_folder, con, READERS)
    results = load_results(odd_folder, con, READERS)
    assert results["kernel"].files_read == 0
    make(odd_folder, {"c1/kernel/empty.log": JOURNAL.replace("79", "63")})
    results = load_results(odd_folder, con, READERS)
    assert results["kernel"].files_read == 1
    assert con.execute("select status, reason from ops.files where path = 'c1/kernel/empty.log'").fetchone() == (
        "read",
        None,
    )


def test_a_file_that_turns_odd_leaves_no_row_and_no_span(odd_folder):
    con = connect()
    load_results(odd_folder, con, READERS)
    make(odd_folder, {"c1/kernel/good.log": b"ssh: connect to host node1 port 22: Connection refused\n"})
    load_results(odd_folder, con, READERS)
    assert con.execute("select count(*) from raw.kernel_messages where path like '%good.log'").fetchone() == (0,)
    assert con.execute("select first_at, status from ops.files where path = 'c1/kernel/good.log'").fetchone() == (
        None,
        "refused",
    )


SPOILT = {
    "empty": ("sacct/b.txt", "", "empty file. Export it again or remove it."),
    "unknown-key": ("cluster.toml", "unheard_of = 1", "unknown key 'unheard_of'. Allowed there:"),
    "error-message": ("sacct/b.txt", "sacct: error: no connection\n", "command_error_output: holds sacct's"),
}
"""By cluster: a file beside its accounting, its text, and what is said of it."""


@pytest.fixture(scope="module")
def failing_of_spoilt(tmp_path_factory):
    """Load the spoilt clusters beside one that is well, and return which of them fail and why."""
    files = {f"{cluster}/{name}": text for cluster, (name, text, _) in SPOILT.items()}
    accounting = {f"{cluster}/sacct/a.txt": GOOD for cluster in ("c1", *SPOILT)}
    folder = make(tmp_path_factory.mktemp("spoilt"), {**accounting, **files})
    con = load(folder)
    assert "c1" in [row[0] for row in facts(con)]
    return failing_by_sources(con, survey(folder, ONLY_SACCT))


@pytest.mark.parametrize("cluster", SPOILT)
def test_what_is_wrong_with_the_accounting_of_a_cluster_concerns_that_cluster_alone(cluster, failing_of_spoilt):
    name, _, reason = SPOILT[cluster]
    assert sorted(failing_of_spoilt) == sorted(SPOILT)
    assert failing_of_spoilt[cluster][0].startswith(f"{cluster}/{name}: {reason}")
    assert not [problem for problem in failing_of_spoilt[cluster] if not problem.startswith(f"{cluster}/")]


def test_an_empty_folder_in_place_of_accounting_is_refused_and_what_was_read_stays(tmp_path):
    """A cluster of which nothing was read before is left out for it; the other one is built of what is kept."""
    folder = make(tmp_path, {"c1/sacct/a.txt": GOOD, "c2/sacct/a.txt": GOOD, "c3/sacct/a.txt/.keep": ""})
    (folder / "c3/sacct/a.txt/.keep").unlink()
    why = "c{}/sacct/a.txt: not a regular file but an empty folder. Put the file in its place."
    con = load(folder)
    assert failing_by_sources(con, survey(folder, ONLY_SACCT)) == {"c3": [why.format(3)]}
    count = con.execute("select count(*) from raw.sacct where cluster_id = 'c2'").fetchall()
    (folder / "c2/sacct/a.txt").unlink()
    (folder / "c2/sacct/a.txt").mkdir()
    (folder / "c1/sacct/2025").mkdir()
    load(folder, con)
    assert failing_by_sources(con, survey(folder, ONLY_SACCT)) == {"c3": [why.format(3)]}
    assert con.execute("select count(*) from raw.sacct where cluster_id = 'c2'").fetchall() == count
    refused = "select path, concat(path, ': ', reason, '. ', next_step) from ops.files where status = 'refused'"
    assert con.execute(f"{refused} and cluster_id = 'c2'").fetchall() == [("c2/sacct/a.txt", why.format(2))]


TIMES = {"submission": 1714550400, "start": 1714550400, "end": 1714554000, "elapsed": 3600}


def many(first):
    numbers = range(first, first + 2000)
    return export(numbered(numbers)).encode()


def document(first, indent=None):
    jobs = [{"job_id": number, "state": "COMPLETED", "time": TIMES} for number in range(first, first + 2000)]
    return json.dumps({"jobs": jobs}, indent=indent).encode()


def half(content):
    return content[: len(content) // 2]


PRETTY = document(10_000, indent=1)
CUT_OFF = {
    "gz": ("txt.gz", half(gzip.compress(many(0)))),
    "zst": ("txt.zst", half(zstandard.ZstdCompressor().compress(many(2_000)))),
    "pretty": ("json", half(document(4_000, indent=1))),
    "compact": ("json", half(document(6_000))),
    "in-an-archive": ("json.gz", gzip.compress(half(document(8_000, indent=1)))),
    "never-valid-again": ("json", PRETTY[: PRETTY.index(b'"job_id": 11000,')] + b"}}} what stood here is lost"),
}
"""Accounting whose end is missing, each of other jobs: suffix and content."""


@pytest.fixture(scope="module")
def cut_off(tmp_path_factory):
    """Load a cluster that is well and one of files that are cut off; mend them, and load again.

    Returns what became of the files, why clusters fail, and why they do when all is mended.
    """
    files = {f"c2/sacct/{case}.{suffix}": content for case, (suffix, content) in CUT_OFF.items()}
    folder = make(tmp_path_factory.mktemp("cut_off"), {"c1/sacct/a.txt": GOOD, **files})
    con = load(folder)
    accounts = rows(con, "select path, status, is_partial, loaded > 0 as is_loaded from ops.files")
    mark_doubtful_files(con)
    failing = failing_by_sources(con, survey(folder, ONLY_SACCT))
    for path in files:
        (folder / path).unlink()
    make(folder, {"c2/sacct/b.txt": GOOD})
    load(folder, con)
    return {row["path"]: row for row in accounts}, failing, failing_by_sources(con, survey(folder, ONLY_SACCT))


@pytest.mark.parametrize("case", CUT_OFF)
def test_accounting_whose_end_is_missing_makes_the_cluster_stale_until_it_is_whole(case, cut_off):
    accounts, failing, failing_when_mended = cut_off
    path = f"c2/sacct/{case}.{CUT_OFF[case][0]}"
    assert accounts[path] == {"path": path, "status": "cut_off", "is_partial": True, "is_loaded": True}
    problem = f"{path}: cut off: its end is missing, and what it told there is unknown. Copy or export it again. "
    assert list(failing) == ["c2"]
    assert [reason for reason in failing["c2"] if reason.startswith(problem)]
    assert failing_when_mended == {}


MANY, COMPACT = many(1), document(1)
LINES = b"".join(json.dumps({"sacct": {"JobID": str(number)}}).encode() + b"\n" for number in range(1, 200))
NOT_CUT_OFF = {
    "text": ("txt", MANY[:-30]),
    "record": ("json", LINES[:-10]),
    "first-words": ("json", LINES + b'{"sacct"'),
    "array-a-line": ("json", LINES + b'[{"sacct": {"JobID": "200"}}, {"sac'),
    "whole": ("json", document(1, indent=1)),
    "last-record-broken": ("json", COMPACT.replace(b'"job_id": 2000,', b'"job_id": ,')),
}
"""Files that are being written or hold a broken record: suffix and content."""


@pytest.fixture(scope="module")
def not_cut_off(tmp_path_factory):
    """Load these files, and return what became of each and why clusters fail."""
    files = {f"c1/sacct/{case}.{suffix}": content for case, (suffix, content) in NOT_CUT_OFF.items()}
    folder = make(tmp_path_factory.mktemp("not_cut_off"), files)
    con = load(folder)
    statuses = con.execute("select split_part(split_part(path, '/', 3), '.', 1), status from ops.files").fetchall()
    return dict(statuses), failing_by_sources(con, survey(folder, ONLY_SACCT))


@pytest.mark.parametrize("case", NOT_CUT_OFF)
def test_a_file_that_is_being_written_and_one_broken_record_stop_nothing(case, not_cut_off):
    statuses, failing = not_cut_off
    assert statuses[case] == ("cut_off" if case == "text" else "read")
    assert failing == {}


def test_a_cluster_without_accounting_is_left_out_and_the_others_go_on(tmp_path):
    folder = make(tmp_path, {"c1/sacct/a.txt": GOOD, "c2/kernel/a.log": JOURNAL})
    (folder / os.fsdecode(b"caf\xe9") / "sacct").mkdir(parents=True)
    found = survey(folder, READERS)
    assert list(found.clusters) == ["c1"]
    assert sorted(found.left_out) == ["c2", "caf\\udce9"]


def test_rows_of_a_cluster_that_is_left_out_stay_until_it_is_mended(tmp_path):
    folder = make(tmp_path, {"c1/sacct/a.txt": GOOD, "c2/sacct/a.txt": GOOD, "c2/kernel/a.log": JOURNAL})
    con = load(folder, readers=READERS)
    before = {
        table: rows(con, f"select * from {table} where cluster_id = 'c2' order by all")
        for table in ("raw.sacct", "raw.kernel_messages", "raw.node_names", "ops.files")
    }
    make(folder, {"c2/cluster.toml": "unheard_of = 1", "c1/sacct/b.txt": export([{"JobID": "7", "NodeList": "other"}])})
    load_results(folder, con, READERS)
    for table, expected in before.items():
        assert rows(con, f"select * from {table} where cluster_id = 'c2' order by all") == expected, table
    (folder / "c2/cluster.toml").unlink()
    assert not any(result.files_read for result in load_results(folder, con, READERS).values())


def test_a_reader_that_fails_on_a_file_refuses_that_file_alone(tmp_path):
    folder = make(tmp_path, {f"c{number}/sacct/{name}.txt": GOOD for number in (1, 2) for name in "abcde"})

    class Fails:
        KIND, TABLE, DIALECTS, VERSION, COVERS, ROWS = "sacct", "sacct", sacct.DIALECTS, 1, sacct.COVERS, sacct.ROWS
        detect = staticmethod(sacct.detect)
        dispositions = staticmethod(sacct.dispositions)

        @staticmethod
        def plan_reading(given):
            def fail(con):
                if con.execute("select count(*) from batch_files where path = 'c2/sacct/d.txt'").fetchone()[0]:
                    raise OverflowError("date value out of range")

            plan = sacct.plan_reading(given)
            return replace(plan, prepare=[fail, *plan.prepare])

    con = load(folder, readers={"sacct": Fails})
    assert con.execute("select path, reason from ops.files where status = 'refused'").fetchall() == [
        ("c2/sacct/d.txt", "the reader failed on it (OverflowError: date value out of range)")
    ]
    assert con.execute("select count(*) from ops.files where status = 'read'").fetchone() == (9,)


@pytest.mark.slow
def test_a_line_of_60_mb_before_all_others_is_told_and_stops_nothing(tmp_path):
    """The sample that tells a form ends within that line: the file is refused, or read but for that line."""
    kinds = [kind for kind in KINDS if kind != "sacct"]
    folder = make(
        tmp_path, {"c1/sacct/a.txt": GOOD, "c2/sacct/a.txt": GOOD, "c2/sacct/b.txt": b"x" * 60_000_000 + GOOD.encode()}
    )
    for kind in kinds:
        (folder / "c1" / kind).mkdir()
        os.link(folder / "c2/sacct/b.txt", folder / "c1" / kind / "a.log")
    found = survey(folder, READERS)
    assert list(found.clusters) == ["c1", "c2"]
    assert list(found.failing) == ["c2"]
    con = connect()
    results = load_results(folder, con, READERS)
    assert [row[0] for row in facts(con)] == ["c1", "c2"]
    problem = rows(
        con, "select kind, status, reason, next_step, warnings from ops.files where path not like '%/sacct/a.txt'"
    )
    assert sorted(row["kind"] for row in problem) == sorted(KINDS)
    for row in problem:
        assert (row["reason"] and row["next_step"]) if row["status"] == "refused" else CUT_LINES in row["warnings"], row
    refused = [row["kind"] for row in problem if row["status"] == "refused"]
    assert sum("not read: " in line for result in results.values() for line in result.warnings) == len(refused)
