"""The cache of the code has one folder per version, which this user can write."""

import os
import time

import pytest

from orchestration.settings.code_cache import MAX_UNUSED_DAYS, cache_folder, name_of_version
from orchestration.settings.environment import user_cache_folder
from orchestration.settings.home import Home


@pytest.fixture
def caches(tmp_path, monkeypatch):
    """The folders of all versions, in an empty cache of the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    cache_folder.cache_clear()
    yield tmp_path / "caches" / "faultline"
    cache_folder.cache_clear()


def test_a_version_has_one_folder_and_unused_ones_are_removed(caches, tmp_path, capsys):
    used, unused, other = caches / "0.1.0+used", caches / "0.1.0+unused", caches / "benchmarks"
    for folder, days in ((used, MAX_UNUSED_DAYS - 1), (unused, MAX_UNUSED_DAYS + 1), (other, MAX_UNUSED_DAYS + 1)):
        folder.mkdir(parents=True)
        (folder / "manifest.json").touch()
        os.utime(folder, (time.time() - days * 86400,) * 2)
    assert cache_folder(Home.at(tmp_path / "home")) == caches / name_of_version()
    assert {*caches.iterdir()} == {used, other, caches / name_of_version()}
    assert not (tmp_path / "home").exists()
    assert capsys.readouterr() == ("", "")


def test_the_home_takes_the_place_of_a_cache_that_cannot_be_written_and_a_line_says_so_once(caches, tmp_path, capsys):
    """Nobody, not even root, can make a folder in a file."""
    caches.parent.write_text("")
    home = Home.at(tmp_path / "home")
    assert cache_folder(home) == cache_folder(home) == home.work / "cache" / name_of_version()
    assert cache_folder(home).is_dir()
    unwritable = f"the cache folder {caches / name_of_version()} cannot be written, so {cache_folder(home)} is used\n"
    assert capsys.readouterr() == ("", unwritable)


def test_a_cache_folder_without_a_whole_path_counts_as_none(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for named in ("", "caches", "./caches"):
        monkeypatch.setenv("XDG_CACHE_HOME", named)
        assert user_cache_folder() == tmp_path / ".cache"
