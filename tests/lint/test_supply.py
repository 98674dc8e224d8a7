"""The environment has the packages of the lock, by hash, and its bill of materials is valid and complete."""

import json
import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).resolve().parents[2]
ENVIRONMENTS = ("axe", "containers", "runtime", "spark", "studies", "supply")
LOCKS = sorted(PROJECT.glob("requirements*.lock.txt"))
THIS = {"faultline"}


def pinned(lock):
    """Yield the requirements of a lock file, each with the number of its hashes."""
    text = lock.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        requirement, *hashes = line.split("--hash=sha256:")
        yield Requirement(requirement.strip()), len(hashes)


def installed():
    return {canonicalize_name(distribution.name): distribution.version for distribution in distributions()}


def test_there_are_locks_for_all_environments():
    assert [lock.name for lock in LOCKS] == [
        *(f"requirements-{name}.lock.txt" for name in ENVIRONMENTS),
        "requirements.lock.txt",
    ]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_package_is_pinned_by_version_and_hash(lock):
    requirements = list(pinned(lock))
    few = {"axe": 0, "studies": 1, "containers": 10}
    small = {f"requirements-{name}.lock.txt": count for name, count in few.items()}
    assert len(requirements) > small.get(lock.name, 40)
    loose = [
        str(requirement)
        for requirement, hashes in requirements
        if not hashes or requirement.url or not re.fullmatch(r"==[^*]+", str(requirement.specifier))
    ]
    assert loose == []


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_no_lock_names_a_place_to_get_packages_from(lock):
    assert not re.search(r"://|--index-url|--extra-index-url|--find-links|--trusted-host", lock.read_text())


def test_what_users_install_is_what_the_tests_run_with():
    tested, used = (
        {(requirement.name, str(requirement.specifier)) for requirement, _ in pinned(lock)}
        for lock in (PROJECT / "requirements.lock.txt", PROJECT / "requirements-runtime.lock.txt")
    )
    assert used < tested


def test_what_the_lock_names_is_installed():
    there = installed()
    missing = [
        str(requirement)
        for requirement, _ in pinned(PROJECT / "requirements.lock.txt")
        if requirement.marker is None or requirement.marker.evaluate()
        if not requirement.specifier.contains(there.get(canonicalize_name(requirement.name), "0"), prereleases=True)
    ]
    assert missing == []


@pytest.mark.slow
def test_the_bill_of_materials_is_valid_and_complete(tmp_path):
    """The command comes from SECURITY.md."""
    subprocess.run(["make", ".venv-supply/.installed", f"PYTHON={sys.executable}"], cwd=PROJECT, check=True)
    command = [".venv-supply/bin/cyclonedx-py", "environment", "--pyproject", "pyproject.toml", "--output-reproducible"]
    command += ["--validate", "--output-file", str(tmp_path / "sbom.cdx.json"), sys.executable]
    subprocess.run(command, cwd=PROJECT, check=True)
    bill = json.loads((tmp_path / "sbom.cdx.json").read_text(encoding="utf-8"))
    assert bill["bomFormat"] == "CycloneDX"
    assert bill["metadata"]["component"]["name"] == "faultline"
    listed = {canonicalize_name(component["name"]): component["version"] for component in bill["components"]}
    expected = {name: version for name, version in installed().items() if name not in THIS}
    assert listed.items() >= expected.items()
