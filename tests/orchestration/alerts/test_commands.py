"""What the commands say about alerts, and when they send one."""

import json
import re

import duckdb
import pytest

from orchestration.refresh import run
from orchestration.settings.home import Home
from orchestration.upkeep.lock import RefreshRunning
from tests.homes import faultline
from tests.orchestration.alerts.homes import old_publication
from tests.orchestration.alerts.receivers import keeping_program


def test_status_alert_is_for_cron(home, web, tmp_path):
    old_publication(home, 40)
    for _ in range(2):
        result = faultline(home, "status", "--alert", FAULTLINE_ALERT_WEBHOOK=web.address)
        assert result.exit_code == 1
        assert "more than 36 hours ago" in result.stderr
        assert result.stdout == ""
    assert len(web.texts) == 1
    result = faultline(home, "status", "--alert", FAULTLINE_FRESHNESS_HOURS="48", FAULTLINE_ALERT_WEBHOOK=web.address)
    assert (result.exit_code, result.output) == (0, "")
    assert "there is no home" in faultline(Home.at(tmp_path / "none"), "status", "--alert").stderr


def test_a_refresh_whose_home_is_not_there_is_told_and_makes_no_folder(tmp_path, web):
    home = Home.at(tmp_path / "not mounted")
    for times in (1, 2):
        result = faultline(home, "refresh", FAULTLINE_ALERT_WEBHOOK=web.address)
        assert result.exit_code == 1
        assert len(web.texts) == times
    wrong = faultline(home, "refresh", FAULTLINE_ALERT_WEBHOOK=web.address, FAULTLINE_THREADS="many")
    assert (wrong.exit_code, len(web.texts)) == (1, times), "wrong usage is no alert"
    assert not home.root.exists()
    web.status = 500
    result = faultline(home, "refresh", FAULTLINE_ALERT_WEBHOOK=web.address)
    assert "alert not delivered by webhook: 127.0.0.1 answered 500" in result.stderr
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("step", "error", "said"),
    [
        ("newest_publication", PermissionError(13, "Permission denied"), "cannot be written"),
        ("check_sources_of_a_new_home", LookupError("boom"), "unexpected LookupError: boom; nothing was published"),
        ("tell_wrong_settings", re.error("boom"), "boom; nothing was published"),
        ("is_up_to_date", duckdb.BinderException("boom"), "unexpected BinderException: boom; nothing was published"),
        ("read_outcome", MemoryError(), "memory ran out"),
        ("is_up_to_date", KeyboardInterrupt(), ""),
        ("is_up_to_date", RefreshRunning(None), ""),
    ],
)
def test_every_error_is_an_alert_but_an_interruption_and_another_refresh(home, web, monkeypatch, step, error, said):
    def fail(*_):
        raise error

    monkeypatch.setattr(run, "is_up_to_date", lambda *_: True)
    monkeypatch.setattr(run, step, fail)
    result = faultline(home, "refresh", FAULTLINE_ALERT_WEBHOOK=web.address)
    assert result.exit_code == (130 if isinstance(error, KeyboardInterrupt) else 1)
    assert result.stderr.startswith("faultline: ")
    assert [said in text for text in web.texts if "the refresh failed" in text] == [True] * bool(said)


def test_the_test_tries_every_channel_and_says_which_does_not_work(home, web, tmp_path):
    words, kept = keeping_program(tmp_path)
    both = {"FAULTLINE_ALERT_WEBHOOK": web.address, "FAULTLINE_ALERT_COMMAND": f"{words[0]} '{words[1]}' 0"}
    assert faultline(home, "alerts", "--test", **both).exit_code == 0
    assert len(web.texts) == 1 and json.loads(kept.read_text())["kind"] == "test"
    listed = faultline(home, "alerts", FAULTLINE_ALERT_WEBHOOK=web.address)
    assert listed.exit_code == 0 and "hunter2" not in listed.output
    web.status = 403
    result = faultline(home, "alerts", "--test", "--json", **both)
    assert result.exit_code == 1
    assert json.loads(result.stdout) == [
        {"channel": "webhook", "problem": "127.0.0.1 answered 403"}, {"channel": "command", "problem": None},
    ]  # fmt: skip
    assert faultline(home, "alerts", "--test").exit_code == 1
