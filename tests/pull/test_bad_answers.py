"""An erroneous or incomplete answer replaces nothing; a message has the problem and the next step."""

import errno
import os
from unittest.mock import Mock

import pytest

from tests.pull.fake_slurm import days

DAY = "2026-03-04"
SLOW = 'sleep 60 & echo $! > "$FAKE_SLURM/pid"; wait\n'
DOWN = "sacct: error: Problem talking to the database: Connection refused"


def three_jobs(slurm):
    return "".join(slurm.job(number, "COMPLETED", f"{DAY}T01:00", f"{DAY}T02:00") for number in (1, 2, 3))


def answer(*, jobs=lambda jobs: jobs, **how):
    return lambda slurm: slurm.answer("sacct", DAY, jobs(three_jobs(slurm)), **how)


def whole(text, command="sacct", day=DAY):
    return lambda slurm: slurm.answer(command, day, text, part=".whole")


BAD = {
    "exit status": (answer(stderr=f"{DOWN}\n", status=1), "Connection refused (sacct, exit status 1)"),
    "a part": (answer(stderr=f"{DOWN}\n"), "Connection refused (sacct, exit status 0, but an error)"),
    "an error on stdout": (whole(f"{DOWN}\n"), "Connection refused (sacct, among the records)"),
    "an error at the end": (answer(jobs=lambda jobs: f"{jobs}{DOWN}\n"), "Connection refused (sacct, among the rec"),
    "half a line": (answer(jobs=lambda jobs: jobs[:-5]), "ends in the middle of a line"),
    "nothing": (whole(""), "its first line is not the header but ''"),
    "fewer": (answer(jobs=lambda jobs: jobs.split("\n")[0] + "\n"), "1 records for 2026-03-04, where there were 3"),
    "empty": (answer(jobs=lambda _: ""), "0 records for 2026-03-04, where there were 3"),
    "greeted events": (whole("Welcome!\nCluster|\n", "sacctmgr"), "sacctmgr: its first line is not the header but 'W"),
    "greeted nodes": (whole("Welcome!\nNodeName=n1\n", "scontrol", "answer"), "its first line is no record but 'Welco"),
    "a greeted queue": (whole("Welcome!\n1|1|RUNNING\n", "squeue", "answer"), "its first line is no record but 'Welco"),
    "no nodes": (whole("", "scontrol", "answer"), "scontrol: it lists no node"),
    "no fields": (whole("", day="helpformat"), "does not list the fields of sacct"),
    "a secret": (answer(stderr="sacct: error: password=hunter2 rejected\n", status=1), "password=*** rejected"),
    "too slow": (lambda slurm: slurm.answer("sacct", DAY, SLOW, part=".run"), "gave no whole answer in 3 s"),
    "no command": (lambda slurm: slurm.program("sacct", "exit 127\n"), "sacct does not run on this machine"),
}


@pytest.mark.parametrize(("spoil", "words"), BAD.values(), ids=BAD)
def test_a_good_file_is_not_lost_to_a_bad_answer(slurm, pull, files, spoil, words):
    slurm.jobs(DAY, three_jobs(slurm))
    assert pull().problems == []
    before = files()
    spoil(slurm)
    result = pull("2026-03-05T13:00", timeout_seconds=3)
    assert {name: content for name, content in files().items() if name in before} == before
    (problem,) = result.problems
    assert words in problem["what"] and problem["next_step"] and not result.is_whole
    # If a later day arrived, the accounting is up to date, with a gap that the next pull asks for.
    assert result.is_failed == (result.pulled_to != "2026-03-05T13:00:00+00:00")
    if (pid := slurm.folder / "pid").exists():
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)


def test_when_slurmdbd_is_down_two_questions_show_it_and_the_controller_is_asked(slurm, pull, files):
    for day in range(2, 6):
        for command in ("sacct", "sacctmgr"):
            slurm.answer(command, f"2026-03-0{day}", "", stderr=f"{DOWN}\n", status=1)
    result, calls = pull(), slurm.calls
    assert len(days(calls)) == len(days(calls, "sacctmgr")) == 2 and [*files()] == ["inventory/pulled-2026-03-05.txt"]
    assert result.is_failed and result.pulled_to is None and "Connection refused" in result.reason
    assert "slurmdbd and slurmctld run" in result.next_step
    # The next pulls ask for what failed, even for a single day.
    for repaired, asked in (((2, 4, 5), [2, 3, 4, 5]), ((3,), [3, 5])):
        for day in repaired:
            slurm.jobs(f"2026-03-0{day}", three_jobs(slurm))
        pull("2026-03-05T13:00", look_back_days=0, kinds=["sacct"])
        assert [day.day for day in days(slurm.calls)] == asked


def test_a_warning_and_an_error_that_the_site_calls_harmless_refuse_nothing(slurm, pull):
    noise = "sacct: error: _parse_next_key: Parsing error at unrecognized key: NewOption\n"
    slurm.answer("sacct", DAY, three_jobs(slurm), stderr=f"Warning: Permanently added 'login1'.\n{noise}")
    (problem,) = pull().problems
    assert "NewOption" in problem["what"] and "harmless_errors" in problem["next_step"]
    assert pull("2026-03-05T13:00", harmless_errors=["unrecognized key: NewOption"]).problems == []


@pytest.mark.parametrize(
    ("private", "level", "is_hidden"),
    [("jobs,usage", "None", True), ("jobs,usage", "Operator", False), ("usage,users", "None", False)],
)
def test_jobs_that_slurm_hides_from_the_user_are_reported(slurm, pull, private, level, is_hidden):
    configuration = f"SlurmUser = slurm(64030)\nPrivateData            = {private}\n"
    slurm.answer("sacctmgr", "answer", f"{level}\n", part=".whole")
    slurm.answer(
        "sacctmgr", "answer", f'[ "$2" = configuration ] && {{ printf "{configuration}"; exit 0; }}\n', part=".run"
    )
    slurm.program("id", "echo mallory\n")
    result = pull()
    assert (result.status == "incomplete", bool(result.problems)) == (is_hidden, is_hidden)
    if is_hidden:
        assert "hides the jobs of other users from mallory" in result.reason
        assert result.next_step.startswith("sacctmgr modify user mallory set AdminLevel=Operator")


def test_a_full_disk_leaves_no_part_of_an_answer(slurm, pull, files, monkeypatch):
    slurm.jobs(DAY, three_jobs(slurm))
    monkeypatch.setattr("orchestration.upkeep.disk.os.fsync", Mock(side_effect=OSError(errno.ENOSPC, "full")))
    with pytest.raises(OSError, match="full"):
        pull()
    assert files() == {}
