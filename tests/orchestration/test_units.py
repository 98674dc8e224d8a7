"""systemd accepts the unit files, and they confine their services."""

import re
import shutil
import subprocess

import pytest

from orchestration.cli import app
from orchestration.settings.environment import read_settings
from orchestration.settings.home import PROJECT

UNITS = PROJECT / "docs" / "deploy"
SERVICES = sorted(UNITS.glob("*.service"))
PROGRAM = "/opt/faultline/bin/faultline"
MAX_EXPOSURE = 30
"""Of 100, by systemd's own count."""
needs_systemd = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")


@pytest.fixture
def installed(tmp_path):
    """The units with an existing program."""
    for unit in [*SERVICES, *UNITS.glob("*.timer")]:
        (tmp_path / unit.name).write_text(unit.read_text(encoding="utf-8").replace(PROGRAM, "/bin/true"))
    return tmp_path


def analyze(*arguments):
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False)


@needs_systemd
def test_systemd_accepts_the_units_finds_a_mistake_and_confines_each_service(installed):
    done = analyze("verify", "--man=no", *map(str, sorted(installed.iterdir())))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    for unit in SERVICES:
        done = analyze("security", "--offline=true", f"--threshold={MAX_EXPOSURE}", str(installed / unit.name))
        assert done.returncode == 0, done.stdout[-300:]
    unit = installed / "faultline-ui.service"
    unit.write_text(unit.read_text().replace("Restart=on-failure", "Restart=sometimes\nNonsense=1"))
    assert "Nonsense" in analyze("verify", "--man=no", str(unit)).stderr


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.name)
def test_a_service_runs_a_command_that_exists_as_a_user_without_rights(unit):
    text = unit.read_text(encoding="utf-8")
    words = re.search(rf"^ExecStart={PROGRAM} (.+)$", text, re.MULTILINE)[1].split()
    assert words[0] in {command.name or command.callback.__name__ for command in app.registered_commands}
    assert "User=faultline" in text
    assert "EnvironmentFile=/etc/faultline/faultline.env" in text


def test_every_setting_of_the_example_is_one(monkeypatch):
    lines = (UNITS / "faultline.env").read_text(encoding="utf-8").splitlines()[1:]
    settings = dict(line.lstrip("#").split("=", 1) for line in lines)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    found = read_settings()
    assert str(found.home.root) == settings["FAULTLINE_HOME"]
    assert found.alert_webhook and found.alert_command
    known = "".join((PROJECT / "docs" / page).read_text() for page in ("configuration.md", "alerts.md"))
    assert [name for name in settings if name.startswith("FAULTLINE_") and f"`{name}`" not in known] == []
