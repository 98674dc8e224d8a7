"""An answer that is an error, a part or a guess replaces nothing; what failed is told with the next step."""

import errno
import os

import pytest

from assets.sources.settings import Pull
from orchestration.pull.clusters import pull_cluster

DAY = "2026-03-04"
DOWN = "sacct: error: Problem talking to the database: Connection refused"


def three_jobs(slurm):
    return "".join(slurm.job(number, "COMPLETED", f"{DAY}T01:00", f"{DAY}T02:00") for number in (1, 2, 3))


@pytest.fixture
def good(slurm, pull, folder):
    """Pulled once: three records on the fourth of March."""
    slurm.jobs(DAY, three_jobs(slurm))
    assert pull().problems == []
    return (folder / "sacct" / f"pulled-{DAY}.psv").read_bytes()


SPOILT = {
    "exit": (
        lambda slurm, jobs: slurm.answer("sacct", DAY, jobs, stderr=f"{DOWN}\n", status=1),
        "Connection refused (sacct, exit status 1)",
    ),
    "a part": (
        lambda slurm, jobs: slurm.answer("sacct", DAY, jobs, stderr=f"{DOWN}\n"),
        "Connection refused (sacct, exit status 0, but an error)",
    ),
    "stdout": (
        lambda slurm, _: slurm.whole_answer("sacct", DAY, f"{DOWN}\n"),
        "Connection refused (instead of records)",
    ),
    "the end": (
        lambda slurm, jobs: slurm.answer("sacct", DAY, f"{jobs}{DOWN}\n"),
        "Connection refused (after a part of the records)",
    ),
    "a line": (lambda slurm, jobs: slurm.answer("sacct", DAY, jobs[:-5]), "ends in the middle of a line"),
    "nothing": (lambda slurm, _: slurm.whole_answer("sacct", DAY, ""), "its first line is not the header but ''"),
    "fewer": (
        lambda slurm, jobs: slurm.answer("sacct", DAY, jobs.splitlines(keepends=True)[0]),
        "1 records for 2026-03-04, where there were 3",
    ),
    "empty": (lambda slurm, _: slurm.answer("sacct", DAY, ""), "0 records for 2026-03-04, where there were 3"),
}


@pytest.mark.parametrize(("spoil", "words"), SPOILT.values(), ids=SPOILT)
def test_a_good_file_is_not_lost_to_a_bad_answer(slurm, pull, folder, good, spoil, words):
    spoil(slurm, three_jobs(slurm))
    result = pull("2026-03-05T13:00")
    assert (folder / "sacct" / f"pulled-{DAY}.psv").read_bytes() == good
    (problem,) = result.problems
    assert words in problem.what and problem.what.startswith(f"{DAY}: ") and problem.next_step
    # The day after it arrived, so the accounting is up to date, with a hole that the next pull asks for.
    assert result.status == "incomplete" and result.pulled_to == "2026-03-05T13:00:00+00:00"
    assert not list(folder.rglob(".pulling-*"))


@pytest.mark.parametrize(
    ("command", "kind", "record"),
    [("scontrol", "inventory", "NodeName=n1 CPUTot=64\n"), ("squeue", "squeue", "1|1|RUNNING|1|1|u|p|1|n1||None\n")],
)
def test_the_greeting_of_a_login_is_no_record_and_takes_no_files_place(slurm, pull, files, command, kind, record):
    """A .bashrc that prints writes before each answer: what is stored with it cannot be read."""
    slurm.answer(command, "answer", record)
    pull()
    before = files(kind)
    slurm.answer(command, "answer", f"Welcome to the cluster!\n{record}")
    result = pull("2026-03-05T13:00")
    assert files(kind) == before
    (problem,) = result.problems
    assert f"{command}: its first line is no record but 'Welcome to the cluster!'" in problem.what
    assert ".bashrc" in problem.next_step


def test_a_day_that_failed_is_asked_for_by_the_next_pull(slurm, pull, files):
    slurm.jobs("2026-03-02", slurm.job(1, "COMPLETED", "2026-03-02T01:00", "2026-03-02T02:00"))
    slurm.answer("sacct", "2026-03-03", "", stderr=DOWN, status=1)
    assert pull().status == "incomplete"
    assert "sacct/pulled-2026-03-03.psv" not in files("sacct")
    slurm.jobs("2026-03-03", slurm.job(2, "COMPLETED", "2026-03-03T01:00", "2026-03-03T02:00"))
    slurm.forget_calls()
    pull("2026-03-05T13:00", look_back_days=0)
    assert [day.day for day in slurm.days("sacct")] == [3, 5]
    assert "sacct/pulled-2026-03-03.psv" in files("sacct")


def test_when_slurmdbd_is_down_two_questions_tell_and_the_controller_is_asked_all_the_same(slurm, pull, files):
    for day in range(2, 6):
        for command in ("sacct", "sacctmgr"):
            slurm.answer(command, f"2026-03-0{day}", "", stderr=f"{DOWN}\n", status=1)
    result = pull()
    assert len(slurm.days("sacct")) == 2 and len(slurm.days("sacctmgr")) == 2
    assert files() == ["inventory/pulled-2026-03-05.txt"]
    assert result.status == "failed" and result.pulled_to is None
    assert "slurmdbd and slurmctld run" in result.problems[0].next_step
    outcome = result.outcome()
    assert outcome.is_failed and "Connection refused" in outcome.reason


def test_an_error_line_that_the_site_knows_to_be_harmless_is_passed_over(slurm, pull):
    noise = "sacct: error: _parse_next_key: Parsing error at unrecognized key: NewOption\n"
    slurm.answer("sacct", DAY, slurm.job(1, "COMPLETED", f"{DAY}T01:00", f"{DAY}T02:00"), stderr=noise)
    assert "harmless_errors" in pull().problems[0].next_step
    assert pull("2026-03-05T13:00", harmless_errors=["unrecognized key: NewOption"]).problems == []


def test_jobs_that_slurm_hides_from_the_user_are_told(slurm, pull, monkeypatch):
    configuration = "SlurmUser = slurm(64030)\nPrivateData            = jobs,usage\n"
    slurm.whole_answer("sacctmgr", "answer", "None\n")
    slurm.run_first("sacctmgr", "answer", f'[ "$2" = configuration ] && {{ printf "{configuration}"; exit 0; }}\n')
    (slurm.folder / "bin" / "id").write_text("#!/bin/sh\necho mallory\n")
    (slurm.folder / "bin" / "id").chmod(0o755)
    result = pull()
    (problem,) = result.problems
    assert "hides the jobs of other users from mallory" in problem.what and result.status == "incomplete"
    assert problem.next_step.startswith("sacctmgr modify user mallory set AdminLevel=Operator")
    slurm.whole_answer("sacctmgr", "answer", "Operator\n")
    assert pull("2026-03-05T13:00").problems == []


def test_a_warning_is_no_error(slurm, pull):
    slurm.answer("sacct", DAY, "", stderr="Warning: Permanently added 'login1' to the list of known hosts.\n")
    assert pull().problems == []


def test_secrets_in_an_error_are_masked(slurm, pull):
    slurm.answer("sacct", DAY, "", stderr="sacct: error: password=hunter2 rejected\n", status=1)
    assert "hunter2" not in str(pull().as_dict())


def test_a_query_has_a_time_limit_and_its_children_end_with_it(slurm, pull, tmp_path):
    slurm.run_first("sacct", DAY, f"echo $$ > {tmp_path}/pid; sleep 60\n")
    result = pull(timeout_seconds=0.5)
    assert "gave no whole answer in 0.5 s" in result.problems[0].what
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_commands_that_are_not_there_are_told_with_the_setting_that_helps(slurm, pull):
    result = pull(bin="/nowhere/bin")
    assert result.status == "failed"
    assert 'bin = "/opt/slurm/bin"' in result.problems[0].next_step
    assert "does not run on this machine" in result.problems[0].what


def test_a_sacct_that_lists_no_fields_is_refused(slurm, pull):
    slurm.answer("sacct", "helpformat", "")
    assert "does not list the fields" in pull().problems[0].what


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), OSError(errno.EIO, "I/O error")])
def test_a_disk_that_is_full_or_broken_leaves_no_part_of_an_answer(slurm, folder, files, monkeypatch, error):
    slurm.jobs(DAY, slurm.job(1, "COMPLETED", f"{DAY}T01:00", f"{DAY}T02:00"))

    def fail(_):
        raise error

    monkeypatch.setattr("orchestration.pull.host.os.fsync", fail)
    given = Pull(first_days=3)
    result = pull_cluster("c1", folder, given)
    assert result.status == "failed" and files() == []
    (problem,) = result.problems
    assert "cannot be written" in problem.what and problem.next_step.endswith("then pull again")
    assert ("make room" in problem.next_step) == (error.errno == errno.ENOSPC)


def test_a_folder_that_cannot_be_written_is_named(slurm, folder):
    (folder / "sacct").write_text("a file where the folder should be")
    given = Pull(first_days=1)
    (problem,) = pull_cluster("c1", folder, given).problems
    assert str(folder / "sacct") in problem.what and "make it writable" in problem.next_step
