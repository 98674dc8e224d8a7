"""Serve Dagster's pages behind the guard, with its daemon and its code server; all three end together.

Others can reach only the guarded address. The code server has no authentication, so it listens on a socket in a folder
that only this user may enter.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from orchestration.runs.instance import open_storage
from orchestration.settings.environment import HomeSettings, environment_of_dagster
from orchestration.settings.home import PROJECT
from orchestration.ui import attended
from orchestration.ui.guard import App, Guard, Rules

LOCATION = "orchestration.definitions"
"""The module that the code server loads, and the name of its code location."""
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 -- the user has to ask for them
"""Addresses that mean all interfaces, each with the address for a link."""
SECONDS_TO_LOAD = 180.0
SECONDS_FOR_OPEN_REQUESTS = 3


class NotServing(RuntimeError):
    """The web UI cannot start, or one of its processes ended by itself."""


@dataclass(frozen=True)
class Address:
    """Where to listen: a host and a port, or a Unix socket."""

    host: str = "127.0.0.1"
    port: int = 3000
    socket_file: Path | None = None

    @contextmanager
    def listening(self) -> Iterator[socket.socket]:
        """Listen at the address; only this user can ever connect to a Unix socket."""
        try:
            if self.socket_file is not None:
                listener = _unix_socket(self.socket_file)
            else:
                family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
                listener = socket.create_server((self.host, self.port), family=family)
        except OSError as error:
            where = self.socket_file or f"{self.host}:{self.port}"
            raise NotServing(f"cannot listen on {where}: {error.strerror or error}; try another --port") from None
        try:
            yield listener
        finally:
            listener.close()
            if self.socket_file is not None:
                self.socket_file.unlink(missing_ok=True)

    def link(self, listener: socket.socket) -> str:
        """Return the link for a browser; for a Unix socket it assumes that port 3000 is forwarded to the socket."""
        if self.socket_file is not None:
            return "http://localhost:3000/"
        host = ANY_ADDRESS.get(self.host, self.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}/"


def serve(
    settings: HomeSettings,
    address: Address,
    rules: Rules,
    announce: Callable[[str, bool], None],
    *,
    is_read_only: bool = False,
) -> None:
    """Serve until a signal comes; `announce` gets the link, and whether this process runs the schedule."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    from orchestration.runs.dead_runs import end_dead_runs

    with ExitStack() as stack:
        listener = stack.enter_context(address.listening())
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="faultline-")))
        code_socket = folder / "code.sock"
        workspace_file = _write_workspace(folder, code_socket)
        # Before the other processes: two that create the storage's files at once disturb each other.
        instance = stack.enter_context(open_storage(settings.home))
        parts = Parts(environment_of_dagster(settings))
        stack.callback(parts.end)
        parts.start("code server", _code_server(code_socket))
        # Imported while the code server loads.
        from orchestration.ui.webserver import web_application

        parts.wait_for(code_socket)
        app = stack.enter_context(web_application(instance, workspace_file, is_read_only=is_read_only))
        daemon_lock = _take_lock(settings.home.dagster / "daemon.lock")
        if daemon_lock is not None:
            # No run outlives the daemon that started it.
            end_dead_runs(instance, settings.home)
            parts.start("daemon", _daemon(workspace_file), keep_open=daemon_lock)
        announce(address.link(listener), daemon_lock is not None)
        run_server(Guard(app, rules), listener, parts)


class Parts:
    """The processes behind the web server; they end with this process, even if it is killed.

    Parameters
    ----------
    environment
        Environment of the processes.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str], keep_open: int | None = None) -> None:
        """Start a process, which keeps a given file descriptor open while it runs."""
        self._running[name] = subprocess.Popen(  # noqa: S603 -- commands of this module
            [sys.executable, attended.__file__, *command],
            stdin=subprocess.PIPE,
            start_new_session=True,
            pass_fds=[] if keep_open is None else [keep_open],
            cwd=PROJECT,
            env=self._environment,
        )
        if keep_open is not None:
            os.close(keep_open)

    def ended(self) -> str | None:
        """Return the name of a process that has ended."""
        return next((name for name, process in self._running.items() if process.poll() is not None), None)

    def wait_for(self, code_socket: Path) -> None:
        """Wait until the code server answers; raise `NotServing` if it ends instead."""
        deadline = time.monotonic() + SECONDS_TO_LOAD
        while not _answers(code_socket):
            if self.ended() or time.monotonic() > deadline:
                raise NotServing("the assets could not be loaded; the lines above say why")
            time.sleep(0.1)

    def end(self) -> None:
        """End all processes, and wait for their end."""
        for process in self._running.values():
            if process.stdin is not None:
                process.stdin.close()
        for process in self._running.values():
            process.wait()


def _code_server(code_socket: Path) -> list[str]:
    options = ["--socket", str(code_socket), "--module-name", LOCATION, "--location-name", LOCATION]
    return [sys.executable, "-m", "dagster", "api", "grpc", *options, "--log-level", "warning"]


def _daemon(workspace_file: Path) -> list[str]:
    options = ["--workspace", str(workspace_file), "--log-level", "warning"]
    return [sys.executable, "-m", "dagster._daemon", "run", *options]


def _write_workspace(folder: Path, code_socket: Path) -> Path:
    """Write the workspace file; with the same location name, web server and daemon share the schedule's state."""
    server = {"socket": str(code_socket), "host": "localhost", "location_name": LOCATION}
    file = folder / "workspace.yaml"
    file.write_text(json.dumps({"load_from": [{"grpc_server": server}]}), encoding="utf-8")
    return file


def run_server(app: App, listener: socket.socket, parts: Parts) -> None:
    """Answer requests until a signal comes or one of the other processes ends."""
    import uvicorn

    # No access log, because it would hold the token of the first request, and no headers of a proxy.
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            access_log=False,
            log_level="warning",
            proxy_headers=False,
            server_header=False,
            timeout_graceful_shutdown=SECONDS_FOR_OPEN_REQUESTS,
        )
    )
    ended: list[str] = []

    def watch() -> None:
        while not server.should_exit:
            name = parts.ended()
            if name is not None:
                ended.append(name)
                server.should_exit = True
            time.sleep(0.1)

    threading.Thread(target=watch, daemon=True).start()
    server.run(sockets=[listener])
    if ended:
        raise NotServing(f"the {ended[0]} ended by itself; the lines above say why")


def _unix_socket(file: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    if file.is_socket() and not _answers(file):
        file.unlink()
    # `bind` creates the file, so set the umask first.
    mask = os.umask(0o177)
    try:
        listener.bind(str(file))
    finally:
        os.umask(mask)
    listener.listen()
    return listener


def _answers(file: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as client, suppress(OSError):
        client.connect(str(file))
        return True
    return False


def _take_lock(file: Path) -> int | None:
    """Lock the schedule of a home; return None if another web UI holds it: two would start each run twice."""
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor
