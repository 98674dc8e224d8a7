"""A refresh that is killed, one that reads everything again with records twice, and one after those are gone again."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from orchestration.refresh.forgetting import forget
from tests.conftest import refresh
from tests.homes import ask, copy_of
from tests.published import facts_of

pytestmark = pytest.mark.slow

FAULTLINE = Path(sys.executable).with_name("faultline")
QUESTION = "select state, count(*) as n from marts.fct_attempts group by 1 order by 1"
TWICE = 16
"""Records of the capture that are there twice: few enough for the rows of the others to stay once they are gone."""

QUESTIONS = 3
"""How often readers ask while a refresh runs, seconds apart."""


def start(home, *options) -> subprocess.Popen:
    """Begin a refresh as a process of its own."""
    command = [FAULTLINE, "refresh", *options, "--home", home.root]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )


@pytest.fixture(scope="module")
def story(testbed_home, tmp_path_factory):
    """What happened: the home, its content before and after, the answers given meanwhile, the state after the kill."""
    home = copy_of(testbed_home, tmp_path_factory.mktemp("again"))
    again = home.sources / "testbed/sacct/again.psv"
    lines = (home.sources / "testbed/sacct/sacct_all.psv").read_text(encoding="utf-8").splitlines(keepends=True)
    place = lines[0].split("|").index("JobID")
    jobs = [line for line in lines[1:] if "." not in line.split("|")[place]]
    again.write_text("".join([lines[0], *jobs[:TWICE]]), encoding="utf-8")
    facts = {"home": home, "before": facts_of(home.published_file), "bytes": home.published_file.read_bytes()}

    killed = start(home, "--full")
    for line in killed.stdout:
        if " raw " in line:
            break
    time.sleep(3)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    facts["bytes_after_kill"] = home.published_file.read_bytes()
    done = subprocess.run([FAULTLINE, "status", "--home", home.root], capture_output=True, text=True, check=False)
    facts["status_after_kill"] = (done.returncode, done.stdout + done.stderr)

    running = start(home, "--full")
    facts["answers"] = []
    while running.poll() is None and len(facts["answers"]) < QUESTIONS:
        question = [FAULTLINE, "query", QUESTION, "--format", "json", "--home", home.root]
        facts["answers"].append(subprocess.run(question, capture_output=True, text=True, check=True).stdout)
        time.sleep(8)
    facts["output"] = running.communicate()[0]
    facts["returncode"] = running.returncode
    facts["after"] = facts_of(home.published_file)
    facts["duplicates"] = duplicates(home)

    again.unlink()
    forget(home, ["testbed"], is_confirmed=True)
    facts["last_output"] = refresh(home)
    facts["at_last"] = facts_of(home.published_file)
    return facts


def duplicates(home) -> int | None:
    """Count lines of accounting that state what another does."""
    (lines,) = ask(home, "select sum(line_count) from ops.skips where reason = 'duplicate' and path like '%sacct%'")[0]
    return lines


def test_a_killed_refresh_changes_nothing_for_readers(story):
    assert story["bytes_after_kill"] == story["bytes"]


def test_a_killed_refresh_is_told_by_status(story):
    returncode, words = story["status_after_kill"]
    assert returncode == 1
    assert "stopped without an end" in words or "running" in words


def test_the_next_refresh_succeeds(story):
    assert story["returncode"] == 0, story["output"]
    assert story["output"].rstrip().endswith(str(story["home"].report))


def test_the_same_file_twice_and_everything_again_publish_the_same_content(story):
    assert story["after"] == story["before"]


def test_the_second_copy_is_counted_as_duplicate(story):
    assert story["duplicates"] == TWICE
    assert duplicates(story["home"]) is None


def test_what_is_forgotten_leaves_all_as_before(story):
    assert story["at_last"] == story["before"]


def test_queries_answer_while_a_refresh_runs(story):
    assert len(story["answers"]) == QUESTIONS
    assert len(set(story["answers"])) == 1
    assert sum(row["n"] for row in json.loads(story["answers"][0])) == 102
