"""The files for containers: their agreement with the code, linters, and the image if one can be built."""

import os
import re
import shutil
import subprocess
import tomllib

import pytest
import yaml

from orchestration.runs.instance import SETTINGS
from orchestration.settings.home import PROJECT
from orchestration.ui.guard import HEALTH
from tests.installation.wheel import tracked_files

DEPLOY = PROJECT / "orchestration" / "deploy"
CONTAINERFILE = DEPLOY / "Containerfile"
TOOLS = PROJECT / ".venv-containers" / "bin"


def instructions(name):
    """Return the arguments of an instruction in the Containerfile, for each occurrence."""
    text = CONTAINERFILE.read_text(encoding="utf-8").replace("\\\n", " ")
    return re.findall(rf"^{name} +(.+)$", text, re.MULTILINE)


def test_the_image_holds_tracked_files_on_a_supported_python_and_nothing_in_it_runs_as_root():
    let_in = {line[1:] for line in (PROJECT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {name for line in instructions("COPY") if "--from" not in line for name in line.split()[:-1]}
    assert copied == let_in
    assert all(tracked_files(name) for name in copied)
    (base,) = instructions("ARG")
    version = re.search(r"python:3\.(\d+)-slim", base)[1]
    supported = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["requires-python"]
    first, end = re.fullmatch(r">=3\.(\d+),<3\.(\d+)", supported).groups()
    assert int(first) <= int(version) < int(end)
    assert instructions("USER") == ["10001"]
    assert any("--require-hashes -r requirements-runtime.lock.txt" in line for line in instructions("RUN"))


def test_services_are_built_of_this_checkout_and_looked_at_by_the_health_path_of_the_guard():
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    assert HEALTH in CONTAINERFILE.read_text()
    assert HEALTH in str(compose["services"]["webserver"]["healthcheck"])
    assert compose["services"]["webserver"]["ports"] == ["127.0.0.1:3000:3000"]
    build = compose["services"]["daemon"]["build"]
    assert (DEPLOY / build["context"]).resolve() == PROJECT
    assert (PROJECT / build["dockerfile"]) == CONTAINERFILE


def test_dagsters_settings_for_postgresql_are_ours_but_for_the_storage():
    ours = yaml.safe_load(SETTINGS)
    theirs = yaml.safe_load((DEPLOY / "dagster-postgres.yaml").read_text(encoding="utf-8"))
    assert theirs.pop("storage").keys() == {"postgres"}
    assert theirs == {name: value for name, value in ours.items() if not name.endswith("_storage")}


@pytest.mark.containers
@pytest.mark.parametrize(
    "command",
    [
        [TOOLS / "hadolint", CONTAINERFILE],
        [TOOLS / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml"],
    ],
)
def test_linters_find_nothing(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.containers
def test_the_image_is_built_and_answers():
    """FAULTLINE_TEST_BASE names a local base image; without one, the builder needs a registry."""
    base, builder = os.environ.get("FAULTLINE_TEST_BASE"), shutil.which("podman") or shutil.which("docker")
    if not base or not builder:
        pytest.skip("needs podman or docker, and the name of a base image in FAULTLINE_TEST_BASE")
    build = [builder, "build", "--build-arg", f"BASE={base}", "-f", CONTAINERFILE, "-t", "faultline-test", PROJECT]
    subprocess.run(build, check=True)
    run = [builder, "run", "--rm", "faultline-test"]
    printed = subprocess.run([*run, "--version"], capture_output=True, text=True, check=True).stdout
    assert printed.startswith("faultline 0.")
    refused = subprocess.run(run, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "FAULTLINE_UI_TOKEN" in refused.stderr
