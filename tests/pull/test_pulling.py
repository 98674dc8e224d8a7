"""What is asked of Slurm, in which order, and what is kept of the answers; Slurm's commands are small scripts."""

import json
import os
import signal
from datetime import date

import pytest

from assets.log_kinds import DELIMITER, EVENT_COLUMNS, QUEUE
from orchestration.pull.failures import PullRunning
from orchestration.pull.pulling import Span
from orchestration.pull.queries import SACCT_FIELDS
from orchestration.pull.state import lock_of, read_state


def march(*days):
    return [date(2026, 3, day) for day in days]


@pytest.fixture
def filled(slurm):
    """A job that ends on each of the days that are asked for, and a node that was down on the fourth of March."""
    for day in range(2, 6):
        slurm.jobs(f"2026-03-0{day}", slurm.job(day, "COMPLETED", f"2026-03-0{day}T01:00", f"2026-03-0{day}T02:00"))
    slurm.answer("sacctmgr", "2026-03-04", slurm.event("n1", "2026-03-04T01:00", "2026-03-04T03:00"))
    slurm.answer("squeue", "answer", "9|9|RUNNING|1|1|alice|train|1|n1|n2|None\n")
    return slurm


class TestQueries:
    def test_days_are_asked_for_one_by_one_the_oldest_first(self, filled, pull):
        pull()
        assert filled.days("sacct") == march(2, 3, 4, 5)
        assert filled.days("sacctmgr") == march(2, 3, 4, 5)
        assert [words[0] for words in filled.calls] == [
            *["sacct", "sacctmgr"], *["sacct"] * 4, *["sacctmgr"] * 4, "scontrol", "squeue",
        ]  # fmt: skip

    def test_the_commands_are_those_of_the_unambiguous_form(self, filled, pull):
        filled.run_first("sacct", "2026-03-05", 'echo "$TZ $SLURM_TIME_FORMAT" > "$FAKE_SLURM/environment"\n')
        pull()
        listed, *days = [words for words in filled.calls if words[0] == "sacct"]
        assert listed == ["sacct", "--helpformat"]
        assert days[-1] == [
            "sacct", "-a", "-D", "-X", "-P", "--noconvert", f"--delimiter={DELIMITER}",
            "-S", "2026-03-05T00:00:00", "-E", "2026-03-05T12:00:00", "-o", ",".join(SACCT_FIELDS),
        ]  # fmt: skip
        assert days[0][8:11] == ["2026-03-02T00:00:00", "-E", "2026-03-03T00:00:00"]
        assert filled.calls[6] == [
            "sacctmgr", "-P", "show", "event", "start=2026-03-02T00:00:00", "end=2026-03-03T00:00:00",
            f"format={','.join(EVENT_COLUMNS)}",
        ]  # fmt: skip
        assert filled.calls[-2:] == [["scontrol", "-o", "show", "node"], list(QUEUE)]
        assert (filled.folder / "environment").read_text() == "UTC %s\n"

    def test_another_cluster_of_the_same_slurmdbd_is_named(self, filled, pull):
        pull(slurm_cluster="far")
        assert ["-M", "far"] in [words[7:9] for words in filled.calls if words[0] == "sacct"]
        assert "cluster=far" in filled.calls[6]
        assert filled.calls[-2][:3] == ["scontrol", "-M", "far"]

    def test_an_older_sacct_is_not_asked_for_fields_that_it_lacks(self, slurm, pull, files):
        slurm.fields([field for field in SACCT_FIELDS if field not in {"SubmitLine", "FailedNode", "SLUID"}])
        slurm.jobs("2026-03-04", slurm.job(1, "COMPLETED", "2026-03-04T01:00", "2026-03-04T02:00"))
        assert pull().status == "pulled"
        fields = slurm.calls[2][-1].split(",")
        assert "SubmitLine" not in fields and "DBIndex" in fields
        assert "sacct/pulled-2026-03-04.psv" in files()

    def test_between_two_queries_is_a_rest_and_none_is_longer_than_the_query_took(self, filled, pull, rests):
        filled.run_first("sacct", "2026-03-03", "sleep 0.3\n")
        pull(pause_seconds=0.2)
        assert rests[0] == 0
        assert 0.15 < max(rests) <= 0.2
        assert len(rests) == len(filled.calls)

    def test_only_what_is_configured_is_asked_for(self, filled, pull):
        pull(kinds=["sacct"])
        assert {words[0] for words in filled.calls[2:]} == {"sacct"}


class TestFiles:
    def test_each_day_has_a_file_with_what_it_covers_beside_it(self, filled, pull, files, folder):
        result = pull()
        assert result.status == "pulled" and result.pulled_to == "2026-03-05T12:00:00+00:00"
        days = [f"sacct/pulled-2026-03-0{day}.psv" for day in range(2, 6)]
        assert files("sacct") == sorted([*days, *(f"{day}.manifest.json" for day in days)])
        assert files("inventory") == ["inventory/pulled-2026-03-05.txt"]
        assert files("squeue") == ["squeue/pulled-1772712000.psv"]
        header, record = (folder / days[1]).read_text().splitlines()
        assert header == DELIMITER.join(SACCT_FIELDS)
        assert record.startswith(DELIMITER.join(["3", "3", "c1", "alice"]))
        stated = json.loads((folder / f"{days[1]}.manifest.json").read_text())
        assert stated["from"] == "2026-03-03T00:00:00+00:00" and stated["to"] == "2026-03-04T00:00:00+00:00"
        assert "sacct -a -D -X -P" in stated["command"]

    def test_today_is_covered_up_to_the_question_and_the_first_day_from_the_first_end(self, filled, pull, folder):
        pull()
        today = json.loads((folder / "sacct" / "pulled-2026-03-05.psv.manifest.json").read_text())
        assert today["to"] == "2026-03-05T12:00:00+00:00"
        first = json.loads((folder / "sacct" / "pulled-2026-03-02.psv.manifest.json").read_text())
        assert first["from"] == "2026-03-02T02:00:00+00:00"

    def test_a_quiet_day_has_a_file_but_not_before_anything_is_known_to_have_ended(self, slurm, pull, files):
        # Slurm may have forgotten what there was before the fourth: its jobs that still run are in later days too.
        running = slurm.job(1, "RUNNING", "2026-03-01T01:00")
        ended = slurm.job(2, "COMPLETED", "2026-03-03T01:00", "2026-03-03T02:00")
        for day, jobs in ((1, [running]), (2, [running]), (3, [running, ended]), (4, []), (5, [running])):
            slurm.jobs(f"2026-03-0{day}", *jobs)
        pull(first_days=4)
        names = [f"sacct/pulled-2026-03-0{day}.psv" for day in (3, 4, 5)]
        assert [name for name in files("sacct") if not name.endswith(".json")] == names

    def test_a_new_cluster_on_which_nothing_has_ended_yet_has_its_running_jobs(self, slurm, pull, files):
        slurm.jobs("2026-03-05", slurm.job(1, "RUNNING", "2026-03-05T01:00"))
        pull()
        assert files("sacct") == ["sacct/pulled-2026-03-05.psv"]

    def test_a_line_break_in_a_name_hides_no_record(self, slurm, pull, folder):
        record = slurm.job(1, "COMPLETED", "2026-03-04T01:00", "2026-03-04T02:00", JobName="a\nsacct: error: b")
        slurm.jobs("2026-03-04", record, slurm.job(2, "FAILED", "2026-03-04T03:00", "2026-03-04T04:00"))
        result = pull()
        assert result.problems == [] and result.kinds["sacct"].records == 2
        assert record in (folder / "sacct" / "pulled-2026-03-04.psv").read_text()


class TestAgain:
    def test_only_the_last_days_are_asked_for_again(self, filled, pull):
        pull()
        filled.forget_calls()
        pull("2026-03-05T20:00")
        assert filled.days("sacct") == march(4, 5)

    def test_an_answer_that_is_there_already_leaves_its_file_alone(self, filled, pull, folder):
        pull()
        file = folder / "sacct" / "pulled-2026-03-04.psv"
        os.utime(file, (1, 1))
        result = pull("2026-03-05T20:00")
        assert file.stat().st_mtime == 1
        assert result.kinds["sacct"].unchanged == 1

    def test_a_day_is_complete_only_once_it_is_over(self, filled, pull):
        pull()
        filled.forget_calls()
        pull("2026-03-09T12:00", look_back_days=0)
        assert filled.days("sacct") == march(5, 6, 7, 8, 9)

    def test_a_record_that_came_late_is_found_by_looking_back(self, filled, pull, folder):
        pull()
        late = filled.job(40, "NODE_FAIL", "2026-03-04T01:00", "2026-03-04T09:00")
        filled.jobs("2026-03-04", filled.job(4, "COMPLETED", "2026-03-04T01:00", "2026-03-04T02:00"), late)
        pull("2026-03-05T20:00")
        assert late in (folder / "sacct" / "pulled-2026-03-04.psv").read_text()

    def test_the_end_of_a_long_job_is_in_the_day_on_which_it_ended(self, filled, pull, folder):
        running = filled.job(7, "RUNNING", "2026-03-03T01:00")
        filled.jobs("2026-03-05", running)
        pull()
        ended = filled.job(7, "NODE_FAIL", "2026-03-03T01:00", "2026-03-12T06:00")
        for day in range(6, 10):
            filled.jobs(f"2026-03-0{day}", running)
        filled.jobs("2026-03-12", ended)
        filled.forget_calls()
        pull("2026-03-12T12:00")
        assert ended in (folder / "sacct" / "pulled-2026-03-12.psv").read_text()
        assert not [words for words in filled.calls if "-j" in words]

    def test_a_job_that_ended_in_no_day_that_was_asked_for_is_asked_for_by_number(self, filled, pull, folder):
        filled.jobs(
            "2026-03-05",
            filled.job(7, "RUNNING", "2026-03-02T01:00"),
            filled.job(8, "PENDING", "2026-03-02T01:00", Start="Unknown"),
            filled.job(9, "RUNNING", "2026-03-03T01:00"),
        )
        pull()
        late = filled.job(7, "FAILED", "2026-03-02T01:00", "2026-03-02T05:00")
        filled.answer("sacct", "jobs", late)
        filled.jobs("2026-03-20", filled.job(9, "RUNNING", "2026-03-03T01:00"))
        filled.forget_calls()
        pull("2026-03-20T12:00")
        (asked,) = [words for words in filled.calls if "-j" in words]
        assert asked[asked.index("-j") + 1] == "7" and asked[asked.index("-S") + 1] == "2026-03-02T01:00:00"
        (file,) = (folder / "sacct").glob("pulled-late-*")
        assert late in file.read_text()
        filled.forget_calls()
        pull("2026-03-20T13:00")
        assert not [words for words in filled.calls if "-j" in words]

    def test_an_earlier_first_day_adds_the_days_before(self, filled, pull):
        pull()
        filled.forget_calls()
        pull("2026-03-05T13:00", look_back_days=0, span=Span(since=date(2026, 2, 27)))
        assert filled.days("sacct") == [date(2026, 2, 27), date(2026, 2, 28), *march(1, 5)]
        filled.forget_calls()
        pull("2026-03-05T14:00", look_back_days=0)
        assert filled.days("sacct") == march(5)

    def test_a_span_in_the_past_is_fetched_without_the_present(self, filled, pull):
        result = pull(span=Span(since=date(2026, 3, 2), until=date(2026, 3, 4)))
        assert filled.days("sacct") == march(2, 3)
        assert set(result.kinds) == {"sacct", "events"} and result.pulled_to is None

    def test_again_asks_for_complete_days_too(self, filled, pull):
        pull()
        filled.forget_calls()
        pull("2026-03-05T13:00", span=Span(is_again=True))
        assert filled.days("sacct") == march(2, 3, 4, 5)

    def test_a_file_that_is_gone_is_fetched_again(self, filled, pull, folder):
        pull()
        (folder / "sacct" / "pulled-2026-03-03.psv").unlink()
        filled.forget_calls()
        pull("2026-03-05T13:00", look_back_days=0)
        assert filled.days("sacct") == march(3, 5)

    def test_damaged_notes_of_earlier_pulls_cost_questions_and_nothing_else(self, filled, pull, folder, files):
        pull()
        before = {name: (folder / name).read_bytes() for name in files("sacct")}
        (folder / ".pull" / "state.json").write_text('{"complete": {"sacct": ["yesterday"]}}')
        pull()
        assert {name: (folder / name).read_bytes() for name in files("sacct")} == before


def test_a_pull_that_was_killed_goes_on_where_it_was(filled, pull, files, folder):
    filled.run_first("sacct", "2026-03-04", "printf 'half an answ'; kill -9 $PPID; sleep 1\n")
    child = os.fork()
    if child == 0:
        try:
            pull()
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert [name for name in files() if not name.endswith(".json")] == [
        "sacct/pulled-2026-03-02.psv",
        "sacct/pulled-2026-03-03.psv",
    ]
    assert list((folder / "sacct").glob(".pulling-*"))
    (filled.folder / "sacct" / "2026-03-04.run").unlink()
    filled.forget_calls()
    assert pull("2026-03-05T13:00").status == "pulled"
    assert filled.days("sacct") == march(4, 5)
    assert not list((folder / "sacct").glob(".pulling-*"))


def test_two_pulls_of_a_cluster_do_not_run_at_once(filled, pull, folder):
    with lock_of(folder), pytest.raises(PullRunning, match=rf"already running \(process {os.getpid()} of "):
        pull()
    assert filled.calls == []
    assert pull().status == "pulled"


def test_the_first_day_stays_where_the_first_pull_put_it(filled, pull, folder):
    pull()
    assert read_state(folder).since == "2026-03-02"
    filled.forget_calls()
    pull("2026-03-08T12:00", look_back_days=0)
    assert filled.days("sacct") == march(5, 6, 7, 8)
    assert read_state(folder).since == "2026-03-02"
