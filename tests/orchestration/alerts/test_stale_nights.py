"""A night without a new publication is told once."""

import os
from dataclasses import replace
from time import time

import pytest

from orchestration.alerts import events
from orchestration.alerts.sending import tell_if_stale
from orchestration.environment import HomeSettings
from tests.orchestration.alerts.homes import old_publication


def test_a_stale_night_is_told_once_per_publication(settings, home, web, said):
    old_publication(home, 37)
    event = tell_if_stale(settings, said.append)
    assert tell_if_stale(settings, said.append) == event
    (text,) = web.texts
    assert "more than 36 hours ago" in text
    assert "no new logs came, or no refresh was started" in text or "`faultline status` says more" in text
    assert tell_if_stale(replace(settings, freshness_hours=38), said.append) is None
    assert said == []


@pytest.mark.parametrize("days", [1, 3])
def test_a_publication_without_a_moment_is_as_old_as_its_file(settings, home, monkeypatch, days):
    old_publication(home, 0)
    moment = time() - 86_400 * days
    os.utime(home.current / "faultline.duckdb", (moment, moment))
    lost = replace(events.newest_publication(home), published_at="")
    monkeypatch.setattr(events, "newest_publication", lambda _: lost)
    assert (tell_if_stale(settings, pytest.fail) is None) == (days == 1)


def test_a_home_without_any_publication_is_stale_once_it_is_old_enough(tmp_path):
    home = HomeSettings(events.Home.at(tmp_path))
    for folder in (home.home.root, home.home.dagster):
        folder.mkdir(exist_ok=True)
        assert events.stale_event(home.home, 36) is None
        assert "nothing was ever published" in events.stale_event(home.home, -1).line
