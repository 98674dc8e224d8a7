"""Dagster's history in PostgreSQL, as in docs/operations.md: a refresh, its events, and an unreachable server.

The test starts Debian's PostgreSQL with a cluster of its own. `make postgres` runs it.
"""

import io
import os
import pwd
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path
from tempfile import mkdtemp

import pytest

from orchestration.doctor.doctor import settings_findings
from orchestration.refresh.run import run_refresh
from orchestration.runs.instance import SETTINGS, open_storage, prepare_storage, settings_file
from orchestration.runs.refresh_errors import RefreshFailed
from orchestration.settings.environment import read_settings
from orchestration.settings.home import PROJECT, Home
from orchestration.terminal.output import console
from tests.conftest import new_home

pytestmark = pytest.mark.postgres

PASSWORD = "swordfish"


def program(name):
    found = shutil.which(name) or max(map(str, Path("/usr/lib/postgresql").glob(f"*/bin/{name}")), default=None)
    if found is None:
        pytest.skip(f"{name} is not installed (Debian: postgresql)")
    return found


class Server:
    """A PostgreSQL for this test; as it refuses root, root starts it as the user postgres."""

    def __init__(self, folder):
        self.folder, self.user = folder, {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        if self.user:
            found = pwd.getpwnam("postgres")
            os.chown(folder, found.pw_uid, found.pw_gid)
        password = folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        options = ["--username", "faultline", "--auth", "scram-sha-256", "--pwfile", str(password), "--no-sync"]
        self.run("initdb", *options, str(folder / "data"))

    def run(self, name, *arguments):
        command = [program(name), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, cwd="/", **self.user)

    def start(self):
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} -c fsync=off"
        self.run(
            "pg_ctl", "-D", str(self.folder / "data"), "-w", "-l", str(self.folder / "log"), "-o", options, "start"
        )

    def stop(self):
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-m", "immediate", "stop")


@pytest.fixture(scope="module")
def server():
    program("initdb")
    # The path of a socket is at most 107 characters long.
    folder = Path(mkdtemp(prefix="pg-", dir="/tmp"))
    server = Server(folder)
    server.start()
    environment = os.environ | {"PGPASSWORD": PASSWORD}
    create = [program("createdb"), "-h", "127.0.0.1", "-p", str(server.port), "-U", "faultline", "history"]
    subprocess.run(create, check=True, env=environment)
    yield server
    server.stop()
    shutil.rmtree(folder)


def documented_settings(server):
    """The file in docs/operations.md: Faultline's own with another storage, with the address of the test's server."""
    page = (PROJECT / "docs" / "operations.md").read_text(encoding="utf-8")
    storage = re.search(r"```yaml\n(storage:\n.*?)```", page, re.DOTALL)[1]
    storage = storage.replace("db.example.org", "127.0.0.1").replace("5432", str(server.port))
    storage = storage.replace("db_name: faultline", "db_name: history")
    others = SETTINGS[: SETTINGS.index("run_storage:")] + SETTINGS[SETTINGS.index("concurrency:") :]
    return storage + others


@pytest.fixture
def with_postgres(server, monkeypatch):
    """Write these settings into a home."""
    monkeypatch.setenv("FAULTLINE_POSTGRES_PASSWORD", PASSWORD)

    def prepare(home):
        home.dagster.mkdir(parents=True)
        settings_file(home).write_text(documented_settings(server), encoding="utf-8")
        return home

    return prepare


def refresh(home):
    return run_refresh(read_settings(home.root, home.sources), console(io.StringIO()))


def test_a_refresh_keeps_its_history_in_postgresql(with_postgres, tmp_path):
    home = with_postgres(new_home(tmp_path / "home"))
    text = settings_file(home).read_text(encoding="utf-8")
    assert refresh(home).status == "published"
    assert settings_file(home).read_text(encoding="utf-8") == text
    assert not list(home.dagster.rglob("*.db"))
    with open_storage(home) as instance:
        assert type(instance.run_storage).__name__ == "PostgresRunStorage"
        (run,) = instance.get_runs()
        assert run.is_success
        assert len(instance.all_logs(run.run_id)) > 500
    assert refresh(home).status == "unchanged"


def test_doctor_finds_nothing_that_the_documented_file_gives_up(with_postgres, tmp_path):
    home = with_postgres(Home.at(tmp_path / "home"))
    prepare_storage(home)
    (finding,) = settings_findings(home)
    assert finding.level == "note"
    assert PASSWORD not in str(finding)


def test_a_server_that_is_away_is_told_and_publishes_nothing(with_postgres, server, tmp_path):
    home = with_postgres(new_home(tmp_path / "home"))
    server.stop()
    started = time.monotonic()
    try:
        with pytest.raises(RefreshFailed) as error:
            refresh(home)
    finally:
        server.start()
    assert "dagster.yaml" in str(error.value)
    assert PASSWORD not in str(error.value)
    assert not home.published_file.exists()
    assert time.monotonic() - started < 120
