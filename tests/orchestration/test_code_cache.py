"""What is made of the code lies in one folder per version that this user can write, never beside an installed copy."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import msgpack
import pytest

from orchestration import code_cache
from orchestration.code_cache import MAX_UNUSED_DAYS, cache_folder
from orchestration.environment import user_cache_folder
from orchestration.home import PROJECT, Home, code_version


@pytest.fixture
def user_cache(tmp_path, monkeypatch):
    """The cache folder of a user of an installed copy; there is no pyproject.toml beside the code."""
    monkeypatch.setattr(code_cache, "PROJECT", tmp_path / "site-packages")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    cache_folder.cache_clear()
    yield tmp_path / "caches" / "faultline"
    cache_folder.cache_clear()


def unwritable(path: Path) -> Path:
    """A folder in which nobody can make one, root included, because it is a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")
    return path


def test_a_checkout_has_its_own_so_that_a_change_of_one_file_is_no_new_version(tmp_path):
    assert cache_folder(Home.at(tmp_path)) == PROJECT / "build" / "cache"


def test_an_installed_copy_uses_the_user_s_cache_folder_by_version(user_cache, tmp_path, capsys):
    found = cache_folder(Home.at(tmp_path / "home"))
    assert found == user_cache / code_version()
    assert found.is_dir()
    assert not (tmp_path / "site-packages").exists()
    assert not (tmp_path / "home").exists()
    assert capsys.readouterr() == ("", "")


def test_where_it_cannot_be_written_the_home_is_used_and_a_line_says_so_once(user_cache, tmp_path, capsys):
    unwritable(user_cache)
    home = Home.at(tmp_path / "home")
    assert cache_folder(home) == cache_folder(home) == home.work / "cache" / code_version()
    assert cache_folder(home).is_dir()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        f"the cache folder {user_cache / code_version()} cannot be written, so {cache_folder(home)} is used, by this "
        "home alone; set XDG_CACHE_HOME to a folder that can be written\n"
    )


def test_a_checkout_of_somebody_else_is_used_as_an_installed_copy(user_cache, tmp_path):
    unwritable(tmp_path / "site-packages" / "build")
    (tmp_path / "site-packages" / "pyproject.toml").touch()
    assert cache_folder(Home.at(tmp_path / "home")) == user_cache / code_version()


def test_versions_that_nothing_has_used_for_a_while_are_removed(user_cache, tmp_path):
    used, unused = user_cache / "0.1.0+used", user_cache / "0.1.0+unused"
    for folder, days in ((used, MAX_UNUSED_DAYS - 1), (unused, MAX_UNUSED_DAYS + 1)):
        folder.mkdir(parents=True)
        (folder / "manifest.json").touch()
        os.utime(folder, (time.time() - days * 86400,) * 2)
    now = cache_folder(Home.at(tmp_path / "home"))
    assert {path for path in user_cache.iterdir()} == {used, now}


@pytest.mark.parametrize("named", ["", "caches", "./caches"])
def test_a_cache_folder_without_a_whole_path_counts_as_none(monkeypatch, tmp_path, named):
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert user_cache_folder() == tmp_path / ".cache"


PARSE = """
import sys
from pathlib import Path
from orchestration import code_cache
from orchestration.dbt import build
from orchestration.environment import HomeSettings
from orchestration.home import Home
code_cache.PROJECT = Path("/installed")
build.prepare(HomeSettings(Home.at(Path(sys.argv[1]))))
"""


@pytest.mark.slow
def test_two_processes_that_start_at_once_both_find_a_whole_project(tmp_path):
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "caches")}
    command = [sys.executable, "-c", PARSE]
    both = [subprocess.Popen([*command, tmp_path / name], env=environment, cwd=PROJECT) for name in ("one", "two")]
    assert [process.wait() for process in both] == [0, 0]
    folder = tmp_path / "caches" / "faultline" / code_version()
    assert {path.name for path in folder.iterdir()} == {"manifest.json", "partial_parse.msgpack"}
    before = (folder / "manifest.json").stat()
    subprocess.run([*command, tmp_path / "three"], env=environment, cwd=PROJECT, check=True)
    assert (folder / "manifest.json").stat().st_ino == before.st_ino


def test_what_a_wheel_brings_along_is_put_into_a_new_cache_with_the_folders_of_this_copy(
    user_cache, tmp_path, monkeypatch
):
    prepared = tmp_path / "prepared"
    prepared.mkdir()
    (prepared / "manifest.json").write_text(json.dumps({"nodes": [{"root_path": "<dbt_project>/seeds", "n": 1}]}))
    packed = msgpack.packb({"macros": {1: "<packages>/dbt"}, "at": msgpack.ExtType(1, b"x")})
    (prepared / "partial_parse.msgpack").write_bytes(packed)
    (prepared / "vega.js").write_text("'<packages>'")
    monkeypatch.setattr(code_cache, "PREPARED", prepared)
    monkeypatch.setattr(code_cache, "PLACES", {"<dbt_project>": "/a/dbt", "<packages>": "/a/lib"})
    folder = cache_folder(Home.at(tmp_path / "home"))
    assert json.loads((folder / "manifest.json").read_text()) == {"nodes": [{"root_path": "/a/dbt/seeds", "n": 1}]}
    unpacked = msgpack.unpackb((folder / "partial_parse.msgpack").read_bytes(), strict_map_key=False)
    assert unpacked == {"macros": {1: "/a/lib/dbt"}, "at": msgpack.ExtType(1, b"x")}
    assert (folder / "vega.js").read_text() == "'<packages>'"
    (folder / "vega.js").write_text("kept")
    cache_folder.cache_clear()
    assert (cache_folder(Home.at(tmp_path / "home")) / "vega.js").read_text() == "kept"
