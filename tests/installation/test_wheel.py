"""The wheel carries every file that the product reads, at the path that it has in a checkout, and nothing else."""

import configparser
import re
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import PurePosixPath

import pytest

from orchestration import home
from orchestration.home import PROJECT, code_version
from tests.installation.wheel import ROOMS, build_wheel, tracked_files


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    with zipfile.ZipFile(build_wheel(tmp_path_factory.mktemp("wheel"))) as opened:
        yield opened


def metadata(wheel, name):
    (file,) = (file for file in wheel.namelist() if file.endswith(f".dist-info/{name}"))
    return wheel.read(file).decode()


def test_it_holds_the_rooms_and_the_pages_and_nothing_else(wheel):
    tracked = {file for file in tracked_files(*ROOMS) if not PurePosixPath(file).name.startswith(".")}
    pages = {f"share/doc/faultline/{PurePosixPath(file).relative_to('docs')}" for file in tracked_files("docs")}
    held = {re.sub(r"^faultline-[^/]*\.data/data/", "", file) for file in wheel.namelist() if ".dist-info/" not in file}
    assert sorted((tracked | pages) - held) == []
    assert sorted(held - tracked - pages) == []


def test_its_code_is_the_version_that_the_checkout_is(wheel, tmp_path, monkeypatch):
    wheel.extractall(tmp_path)
    code_version.cache_clear()
    before = code_version()
    monkeypatch.setattr(home, "PROJECT", tmp_path)
    code_version.cache_clear()
    assert code_version() == before
    code_version.cache_clear()


def test_it_has_the_command_and_the_version(wheel):
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    scripts = configparser.ConfigParser()
    scripts.read_string(metadata(wheel, "entry_points.txt"))
    assert dict(scripts["console_scripts"]) == {"faultline": "orchestration.cli:main"}
    assert f"\nVersion: {project['version']}\n" in metadata(wheel, "METADATA")
    assert metadata(wheel, "top_level.txt").split() == sorted(ROOMS)


def test_no_package_of_the_lock_installs_anything_under_the_names_of_the_rooms():
    """The names are general; `uv tool` and `pipx` install into an environment where nothing else can have them."""
    owners = packages_distributions()
    assert {room: owners.get(room, ["faultline"]) for room in ROOMS} == {room: ["faultline"] for room in ROOMS}


def test_the_changes_of_each_version_are_told():
    releases = re.findall(r"^## (\S+)", (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert releases[0] == ("Unreleased" if ".dev" in version else version)
