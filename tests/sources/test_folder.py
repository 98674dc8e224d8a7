"""Unusable parts of a sources folder are reported with place and remedy. They stop no other file or cluster."""

import gzip
import json
import os

import pytest
import zstandard

from assets.sources.errors import SourceErrors
from assets.sources.formats import READERS
from assets.sources.intake.account.doubtful_files import mark_doubtful_files
from assets.sources.intake.cluster_failures import failing_by_sources
from assets.sources.intake.find.folder import survey
from tests.logs import export, numbered
from tests.sources.folders import ONLY_SACCT, connect, facts, load, load_results, make, rows

GOOD = export([{}])
A = "c1/sacct/a.txt"


def errors_of(folder, readers=ONLY_SACCT):
    with pytest.raises(SourceErrors) as caught:
        survey(folder, readers)
    text = str(caught.value)
    assert len(text.splitlines()) == len(caught.value.errors), "one line per error"
    return text


@pytest.mark.parametrize(
    ("files", "place", "message"),
    [
        pytest.param({}, "none", "the sources folder does not exist. Create it", id="missing"),
        pytest.param({"notes.txt": "x"}, "", "no cluster folder in it", id="no-clusters"),
        pytest.param({"file": "x"}, "file", "unreadable (Not a directory)", id="file"),
        pytest.param({A: GOOD}, "c1", "Name the folder above it: ", id="one-cluster"),
        pytest.param({"c1/kernel/a.log": "x"}, "", "c1/sacct: no accounting export there", id="no-accounting"),
        pytest.param({"c1/sacct/.hidden": "x"}, "", "c1/sacct: no accounting export there", id="hidden"),
        pytest.param({f"{A}.gz": b"plain"}, "", f"{A}.gz: not an archive", id="no-archive"),
        pytest.param({f"{A}.gz": gzip.compress(b"")}, "", f"{A}.gz: empty file", id="empty-archive"),
        *(
            pytest.param({A: content}, "", f"{A}: {message}", id=message[:20])
            for content, message in [
                (b"\n\r\n  \n", "empty file"),
                (bytes(range(256)) * 40, "binary file, not a log"),
                (GOOD.encode("utf-16"), "binary file (UTF-16 text)"),
                (b"51|51|COMPLETED\n", "no_header"),
                (b"JobID|State\n51|FAILED\n", "missing_columns: Submit, Start, End not among the columns"),
                (b"JobName|State|Submit|Start|End\nx|FAILED|1|2|3\n", "missing_columns: JobIDRaw not among"),
                (
                    b"Job\xe9ID|JobName|State|Submit|Start|End\n",
                    "missing_columns: JobIDRaw not among the columns; bytes that are no UTF-8 in Job\ufffdID",
                ),
                (
                    b"JobID|Node\xe9List|State|Submit|Start|End\n",
                    "missing_columns: bytes that are no UTF-8 in Node\ufffdList",
                ),
                (b"sacct: error: Problem talking to the database\n", "command_error_output"),
            ]
        ),
    ],
)
def test_a_folder_of_which_nothing_can_be_built_is_refused(files, place, message, tmp_path):
    assert message in errors_of(make(tmp_path, files) / place)


def test_all_errors_are_named_at_once_where_no_cluster_is_left(tmp_path):
    settings = 'timezone = "Mars/Olympus"\nunheard_of = 1\n'
    files = {A: "", "c1/sacct/b.txt": GOOD, "c1/cluster.toml": settings, "c2/sacct/a.txt": "51|51\n"}
    text = errors_of(make(tmp_path, {**files, "c3/health/a.jsonl": "{}"}))
    assert len(text.splitlines()) == 4
    for part in ("'Mars/Olympus'", "'unheard_of'", "c2/sacct/a.txt: no_header", "c3/sacct"):
        assert part in text


def test_what_is_not_read_is_named_and_files_in_folders_below_are_read(tmp_path):
    notes = {"c1/sacct/README.md": "#", "c1/sacct/.b.txt.swp": "x", "c1/README.md": "#", "c1/cluster.toml": ""}
    found = survey(
        make(tmp_path, {"c1/sacct/2024/a [1].txt": GOOD, "c1/kernal/a.log": "x", "c1/kern.log": "x", **notes}), READERS
    )
    assert [file.path for file in found.files] == ["c1/sacct/2024/a [1].txt"]
    assert [str(warning).split(". ")[0] for warning in found.warnings] == [
        "c1/kern.log: not read: it lies next to the folders of logs",
        "c1/kernal: not read: its name is no kind of log",
    ]


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


def test_one_odd_file_stops_nothing_has_a_row_that_says_why_and_is_read_once_it_is_mended(tmp_path):
    folder = make(tmp_path / "s", {name: content for name, (content, _) in ODD_FILES.items()})
    make(folder, {A: GOOD, "c1/kernel/good.log": JOURNAL, "c2/sacct/a.txt": GOOD})
    (folder / "c1/kernel/nowhere.log").symlink_to(tmp_path / "nowhere")
    (folder / "c1/kernel/loop.log").symlink_to("loop.log")
    (folder / "c1/kernel/above").symlink_to(folder / "c1")
    (folder / "c1/kernel/above2").symlink_to(folder / "c1/kernel")
    os.mkfifo(folder / "c1/kernel/pipe.log")
    (folder / os.fsdecode(b"c1/kernel/caf\xe9.log")).write_text(JOURNAL)
    con = connect()
    load_results(folder, con, READERS)
    assert [row[0] for row in facts(con)] == ["c1", "c2"]
    files = {row["path"]: row for row in rows(con, "select * from ops.files")}
    for name, (_, reason) in ODD_FILES.items():
        if reason:
            assert (files[name]["status"], files[name]["lines_in"], files[name]["loaded"]) == ("refused", 0, 0)
            assert files[name]["reason"].startswith(reason), name
            assert files[name]["next_step"]
    assert not any("above" in path for path in files)
    for name in ("nowhere.log", "loop.log", "pipe.log", "caf\\udce9.log"):
        assert files[f"c1/kernel/{name}"]["status"] == "refused"
    assert files["c1/kernel/good.log"]["status"] == "read"
    assert failing_by_sources(con, survey(folder, READERS)) == {}
    assert load_results(folder, con, READERS)["kernel"].files_read == 0
    make(folder, {"c1/kernel/empty.log": JOURNAL.replace("79", "63")})
    assert load_results(folder, con, READERS)["kernel"].files_read == 1
    mended = "select status, reason from ops.files where path = 'c1/kernel/empty.log'"
    assert con.execute(mended).fetchall() == [("read", None)]


def many(first):
    return export(numbered(range(first, first + 2000))).encode()


def document(first, indent=None):
    times = {"submission": 1714550400, "start": 1714550400, "end": 1714554000, "elapsed": 3600}
    jobs = [{"job_id": number, "state": "COMPLETED", "time": times} for number in range(first, first + 2000)]
    return json.dumps({"jobs": jobs}, indent=indent).encode()


def half(content):
    return content[: len(content) // 2]


PRETTY = document(10_000, indent=1)
LINES = b"".join(json.dumps({"sacct": {"JobID": str(number)}}).encode() + b"\n" for number in range(1, 200))
FAILING = {
    "empty": ("sacct/b.txt", b"", "empty file. Export it again or remove it."),
    "unknown-key": ("cluster.toml", b"unheard_of = 1", "unknown key 'unheard_of'. Allowed there:"),
    "error-message": ("sacct/b.txt", b"sacct: error: no connection\n", "command_error_output: holds sacct's"),
    **{
        name: (f"sacct/b.{suffix}", content, "cut off: its end is missing, and what it held there is unknown. ")
        for name, suffix, content in [
            ("cut-gz", "txt.gz", half(gzip.compress(many(100)))),
            ("cut-zst", "txt.zst", half(zstandard.ZstdCompressor().compress(many(100)))),
            ("cut-pretty", "json", half(document(100, indent=1))),
            ("cut-compact", "json", half(document(100))),
            ("cut-in-an-archive", "json.gz", gzip.compress(half(document(100, indent=1)))),
            (
                "cut-and-never-valid-again",
                "json",
                PRETTY[: PRETTY.index(b'"job_id": 11000,')] + b"}}} what stood here is lost",
            ),
        ]
    },
}
"""By cluster: a file in addition to its accounting, its content, and why the cluster fails."""
WELL = {
    "text": ("txt", many(1)[:-30], "cut_off"),
    "record": ("json", LINES[:-10], "read"),
    "first-words": ("json", LINES + b'{"sacct"', "read"),
    "array-a-line": ("json", LINES + b'[{"sacct": {"JobID": "200"}}, {"sac', "read"),
    "whole": ("json", document(1, indent=1), "read"),
    "last-record-broken": ("json", document(1).replace(b'"job_id": 2000,', b'"job_id": ,'), "read"),
}
"""By cluster: accounting that is incomplete or has a broken record, and its status."""


@pytest.fixture(scope="module")
def of_accounting(tmp_path_factory):
    """Load all of these clusters and a good one, remove the errors, and load them again.

    Returns the outcome of the files, the errors of clusters, and their errors after the repair.
    """
    folder = make(tmp_path_factory.mktemp("accounting"), {f"{name}/sacct/a.txt": GOOD for name in ("c1", *FAILING)})
    make(folder, {f"{cluster}/{name}": content for cluster, (name, content, _) in FAILING.items()})
    make(folder, {f"{cluster}/sacct/a.{suffix}": content for cluster, (suffix, content, _) in WELL.items()})
    con = load(folder)
    found = {row["path"]: row for row in rows(con, "select * from ops.files")}
    mark_doubtful_files(con)
    failing = failing_by_sources(con, survey(folder, ONLY_SACCT))
    for cluster, (name, *_) in FAILING.items():
        (folder / cluster / name).unlink()
    load(folder, con)
    return found, failing, failing_by_sources(con, survey(folder, ONLY_SACCT))


@pytest.mark.parametrize("cluster", FAILING)
def test_what_is_wrong_with_the_accounting_of_a_cluster_concerns_that_cluster_until_mended(cluster, of_accounting):
    files, failing, failing_when_mended = of_accounting
    name, _, reason = FAILING[cluster]
    assert [problem for problem in failing[cluster] if problem.startswith(f"{cluster}/{name}: {reason}")]
    if reason.startswith("cut off"):
        file = files[f"{cluster}/{name}"]
        assert (file["status"], file["is_partial"], file["loaded"] > 0) == ("cut_off", True, True)
    assert cluster not in failing_when_mended


@pytest.mark.parametrize("cluster", WELL)
def test_a_file_that_is_being_written_and_one_broken_record_stop_nothing(cluster, of_accounting):
    files, failing, _ = of_accounting
    suffix, _, status = WELL[cluster]
    assert (files[f"{cluster}/sacct/a.{suffix}"]["status"], cluster in failing) == (status, False)
    assert "c1" not in failing


def test_rows_of_a_cluster_that_is_left_out_stay_until_it_is_mended(tmp_path):
    folder = make(tmp_path, {A: GOOD, "c2/sacct/a.txt": GOOD, "c2/kernel/a.log": JOURNAL})
    con = load(folder, readers=READERS)
    tables = ("raw.sacct", "raw.kernel_messages", "raw.node_names", "ops.files")
    before = [rows(con, f"select * from {table} where cluster_id = 'c2' order by all") for table in tables]
    make(folder, {"c2/cluster.toml": "unheard_of = 1", "c1/sacct/b.txt": export([{"JobID": "7", "NodeList": "other"}])})
    load_results(folder, con, READERS)
    assert [rows(con, f"select * from {table} where cluster_id = 'c2' order by all") for table in tables] == before
    (folder / "c2/cluster.toml").unlink()
    assert not any(result.files_read for result in load_results(folder, con, READERS).values())
