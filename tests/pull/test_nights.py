"""The queries to Slurm night after night, their order, and what is kept of the answers."""

import json
import multiprocessing
import os
import signal
import time
from datetime import date
from types import SimpleNamespace

import pytest

from assets.log_kinds import DELIMITER, EVENT_COLUMNS, NODE_EVENTS, NODES, QUEUE, SACCT
from orchestration.pull.clusters import Span, lock_of, read_state
from orchestration.pull.host import PullRunning
from orchestration.pull.queries import SACCT_FIELDS
from tests.pull.fake_slurm import days

OLD = "SubmitLine FailedNode SLUID"


def march(*numbers):
    return [date(2026, 3, number) for number in numbers]


def files_of(*numbers):
    return [f"sacct/pulled-{day}.psv" for day in march(*numbers)]


@pytest.fixture
def filled(slurm):
    """A job that ends on each of the queried days, and a node that was down on the fourth of March."""
    for day in march(2, 3, 4, 5):
        slurm.jobs(str(day), slurm.job(day.day, "COMPLETED", f"{day}T01:00", f"{day}T02:00"))
    slurm.answer("sacctmgr", "2026-03-04", "c1|n1|1772586000|1772593200|DOWN||Xid||\n")
    slurm.answer("squeue", "answer", "9|9|RUNNING|1|1|alice|train|1|n1|n2|None\n")
    return slurm


def test_each_day_is_asked_for_once_the_oldest_first_with_a_rest_between(filled, pull, monkeypatch):
    rests = []
    timing = SimpleNamespace(sleep=rests.append, monotonic=time.monotonic)
    monkeypatch.setattr("orchestration.pull.host.time", timing)
    filled.answer(
        "sacct", "2026-03-05", 'echo "$TZ $SLURM_TIME_FORMAT" > "$FAKE_SLURM/environment"; sleep 0.3\n', part=".run"
    )
    pull()
    calls = filled.calls
    assert days(calls) == days(calls, "sacctmgr") == march(2, 3, 4, 5)
    assert calls[0] == ["sacct", "--helpformat"]
    window, columns = ("2026-03-05T00:00:00", "-E", "2026-03-05T12:00:00"), f"format={','.join(EVENT_COLUMNS)}"
    assert calls[5] == [*SACCT, "-S", *window, "-o", ",".join(SACCT_FIELDS)]
    assert calls[6] == [*NODE_EVENTS, "start=2026-03-02T00:00:00", "end=2026-03-03T00:00:00", columns]
    assert calls[-2:] == [[*NODES], [*QUEUE]]
    assert (filled.folder / "environment").read_text() == "UTC %s\n"
    # A pause is as long as the previous query took, and two seconds at most.
    assert rests[0] == 0 and 0.3 < max(rests) <= 2 and len(rests) == len(calls)
    # For a named cluster, only the configured kinds are queried.
    pull(slurm_cluster="far", kinds=["sacct", "inventory"])
    *asked, nodes = filled.calls[2:]
    assert {(words[0], *words[7:9]) for words in asked} == {("sacct", "-M", "far")} and nodes[1:3] == ["-M", "far"]


def test_each_day_has_a_file_and_what_it_covers(filled, pull, files, folder):
    result = pull()
    assert (result.status, result.pulled_to) == ("pulled", "2026-03-05T12:00:00+00:00")
    others = ["inventory/pulled-2026-03-05.txt", *files_of(2, 3, 4, 5), "squeue/pulled-1772712000.psv"]
    assert [name for name in files() if not name.startswith("events")] == others
    header, record = files()[files_of(3)[0]].decode().splitlines()
    assert header == DELIMITER.join(SACCT_FIELDS) and record.startswith(DELIMITER.join(["3", "3", "c1", "alice"]))
    stated = [json.loads((folder / f"{file}.manifest.json").read_text()) for file in files_of(2, 3, 5)]
    # The first day counts from its first end, and today up to the query.
    assert [(each["from"][5:16], each["to"][5:16]) for each in stated] == [
        ("03-02T02:00", "03-03T00:00"), ("03-03T00:00", "03-04T00:00"), ("03-05T00:00", "03-05T12:00"),
    ]  # fmt: skip
    assert "sacct -a -D -X -P" in stated[0]["command"]


def test_a_quiet_day_has_a_file_but_not_before_anything_is_known_to_have_ended(slurm, pull, files, folder):
    # Slurm may have purged records before the third: its running jobs are in later days too.
    running = slurm.job(1, "RUNNING", "2026-03-01T01:00")
    for day in march(1, 2):
        slurm.jobs(str(day), running)
    # The running jobs of a new cluster are kept, but do not cover the day.
    pull("2026-03-02T12:00")
    assert [*files("sacct")] == files_of(2) and not list(folder.rglob("*.manifest.json"))
    slurm.jobs("2026-03-03", running, slurm.job(2, "COMPLETED", "2026-03-03T01:00", "2026-03-03T02:00"))
    pull()
    assert [*files("sacct")] == files_of(2, 3, 4, 5)
    assert sorted(folder.rglob("*.manifest.json")) == [folder / f"{name}.manifest.json" for name in files_of(3, 4, 5)]
    days(slurm.calls)
    assert pull("2026-03-05T13:00", look_back_days=0).problems == [] and days(slurm.calls) == march(5)
    # No event ended, so no day without events is a quiet one.
    assert [*files("events")] == []


def test_neither_an_older_sacct_nor_a_line_break_in_a_name_hides_a_record(slurm, pull, files):
    slurm.answer("sacct", "helpformat", " ".join({*SACCT_FIELDS} - {*OLD.split()}))
    times = ("2026-03-04T01:00", "2026-03-04T02:00")
    record = slurm.job(1, "COMPLETED", *times, JobName="a\nsacct: error: b", lacking=OLD)
    slurm.jobs("2026-03-04", record, slurm.job(2, "FAILED", *times, lacking=OLD))
    result = pull()
    assert result.problems == [] and result.kinds["sacct"]["records"] == 2
    assert record.encode() in files()["sacct/pulled-2026-03-04.psv"]
    fields = slurm.calls[2][-1].split(",")
    assert "SubmitLine" not in fields and "DBIndex" in fields


NEXT = {
    "the last days": ("2026-03-05T20:00", 1, Span(), march(4, 5)),
    "the open day and what follows": ("2026-03-09T12:00", 0, Span(), march(5, 6, 7, 8, 9)),
    "the days before": ("2026-03-05T13:00", 0, Span(since=date(2026, 2, 28)), [date(2026, 2, 28), *march(1, 5)]),
    "complete days": ("2026-03-05T13:00", 0, Span(is_again=True), march(2, 3, 4, 5)),
    "up to a day": ("2026-03-09T12:00", 2, Span(until=date(2026, 3, 8)), march(5, 6, 7)),
}


@pytest.mark.parametrize(("moment", "look_back", "span", "expected"), NEXT.values(), ids=NEXT)
def test_the_next_pull_asks_for(filled, pull, folder, moment, look_back, span, expected):
    pull()
    days(filled.calls)
    result = pull(moment, look_back_days=look_back, span=span)
    assert days(filled.calls) == expected and result.problems == []
    assert ("squeue" in result.kinds) == (span.until is None)
    # The first day stays that of the first pull, unless an earlier one is wanted.
    assert read_state(folder).since == (span.since or date(2026, 3, 2))


def test_damaged_notes_cost_questions_and_the_same_answers_change_no_file(filled, pull, folder):
    pull()
    (folder / ".pull" / "state.json").write_text('{"complete": {"sacct": ["yesterday"]}}')
    written = sorted((folder / "sacct").iterdir())
    for path in written:
        os.utime(path, (1, 1))
    days(filled.calls)
    result = pull()
    assert days(filled.calls) == march(2, 3, 4, 5) and result.kinds["sacct"]["written"] == 0
    assert sorted((folder / "sacct").iterdir()) == written and {path.stat().st_mtime for path in written} == {1}
    # A deleted file is fetched again.
    (folder / files_of(3)[0]).unlink()
    pull(look_back_days=0)
    assert days(filled.calls) == march(3, 5)


def test_what_slurm_wrote_late_is_found_over_several_nights(filled, pull, files):
    """Job 1 is in the day of its end, 2 is written late, and the end of 3 is set in a complete day."""
    first, third = filled.job(1, "RUNNING", "2026-03-03T01:00"), filled.job(3, "RUNNING", "2026-03-02T01:00")
    pending = filled.job(4, "PENDING", "2026-03-02T01:00", Start="Unknown")
    filled.jobs("2026-03-05", first, third, pending)
    pull()
    late = filled.job(2, "NODE_FAIL", "2026-03-04T01:00", "2026-03-04T09:00")
    filled.jobs("2026-03-04", filled.job(40, "COMPLETED", "2026-03-04T01:00", "2026-03-04T02:00"), late)
    filled.jobs("2026-03-06", first, third)
    pull("2026-03-06T12:00", look_back_days=2)
    assert late.encode() in files()["sacct/pulled-2026-03-04.psv"]
    assert not [words for words in filled.calls if "-j" in words]
    # Both ended during two weeks without a pull.
    ended = filled.job(1, "NODE_FAIL", "2026-03-03T01:00", "2026-03-20T06:00")
    filled.jobs("2026-03-20", ended)
    set_later = filled.job(3, "FAILED", "2026-03-02T01:00", "2026-03-02T05:00")
    filled.answer("sacct", "jobs", set_later)
    pull("2026-03-20T12:00")
    assert ended.encode() in files()["sacct/pulled-2026-03-20.psv"]
    (asked,) = [words for words in filled.calls if "-j" in words]
    assert asked[asked.index("-j") + 1] == "3" and asked[asked.index("-S") + 1] == "2026-03-02T01:00:00"
    assert set_later.encode() in files()["sacct/pulled-late-1774008000.psv"]
    pull("2026-03-20T13:00")
    assert not [words for words in filled.calls if "-j" in words]


def test_a_pull_that_was_killed_goes_on_where_it_was(filled, pull, files):
    filled.answer("sacct", "2026-03-04", "printf 'half an answ'; kill -9 $PPID; sleep 1\n", part=".run")
    child = multiprocessing.get_context("fork").Process(target=pull)
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL and [*files()] == files_of(2, 3)
    (filled.folder / "sacct" / "2026-03-04.run").unlink()
    days(filled.calls)
    assert pull("2026-03-05T13:00").status == "pulled"
    assert days(filled.calls) == march(4, 5)


def test_two_pulls_of_a_cluster_do_not_run_at_once(filled, pull, folder):
    with lock_of(folder), pytest.raises(PullRunning, match=rf"already running \(process {os.getpid()} of "):
        pull()
    assert filled.calls == [] and pull().status == "pulled"
