"""The wheel holds every file that the product reads, at its path in a checkout, and the pages, but nothing else."""

import configparser
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import PurePosixPath

import pytest

from orchestration.settings import home
from orchestration.settings.home import PROJECT, code_version
from tests.docs.writers.written import BUILT
from tests.installation.wheel import ROOMS, build_wheel, tracked_files


@pytest.fixture(scope="module")
def wheel_file(tmp_path_factory):
    """The only wheel that the tests of a push build."""
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def wheel(wheel_file):
    """The wheel, opened."""
    with zipfile.ZipFile(wheel_file) as opened:
        yield opened


def test_it_holds_the_rooms_and_the_pages_and_nothing_else(wheel):
    tracked = {file for file in tracked_files(*ROOMS) if not PurePosixPath(file).name.startswith(".")}
    docs = {PurePosixPath(file).relative_to("docs") for file in tracked_files("docs")}
    pages = {f"share/doc/faultline/{file}" for file in [*docs, *BUILT] if str(file).partition("/")[0] != "theme"}
    held = {re.sub(r"^faultline-[^/]*\.data/data/", "", file) for file in wheel.namelist() if ".dist-info/" not in file}
    assert sorted((tracked | pages) - held) == []
    assert sorted(held - tracked - pages) == []


def test_it_has_the_command_and_the_version_of_the_checkout(wheel, tmp_path, monkeypatch):
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    releases = re.findall(r"^## \[(\S+)\]", (PROJECT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert releases[0] == ("Unreleased" if ".dev" in project["version"] else project["version"])
    about = {PurePosixPath(file).name: wheel.read(file).decode() for file in wheel.namelist() if ".dist-info/" in file}
    scripts = configparser.ConfigParser()
    scripts.read_string(about["entry_points.txt"])
    assert dict(scripts["console_scripts"]) == project["scripts"]
    assert f"\nVersion: {project['version']}\n" in about["METADATA"]
    assert about["top_level.txt"].split() == sorted(ROOMS)
    wheel.extractall(tmp_path)
    code_version.cache_clear()
    before = code_version()
    monkeypatch.setattr(home, "PROJECT", tmp_path)
    code_version.cache_clear()
    assert code_version() == before
    code_version.cache_clear()


def test_it_is_installed_by_pip_and_knows_its_version(wheel_file, tmp_path):
    """Use the packages of this environment; `make installed` uses those of the lock with each Python."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-compile"]
    subprocess.run([*pip, "--target", tmp_path / "packages", wheel_file], check=True)
    command = [sys.executable, "-P", "-c", "from orchestration.cli import main; main()", "--version"]
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(tmp_path / "packages")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"faultline {code_version()}\n"


def test_no_package_of_the_lock_installs_anything_under_the_names_of_the_rooms():
    """The names are general, but `uv tool` and `pipx` install each program into an environment of its own."""
    owners = packages_distributions()
    assert {room: owners.get(room, ["faultline"]) for room in ROOMS} == {room: ["faultline"] for room in ROOMS}
