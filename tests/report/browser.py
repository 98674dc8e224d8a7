"""A headless browser, driven by its own protocol: opens pages, clicks, measures."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from websockets.sync.client import ClientConnection, connect

from tests.patience import PATIENCE_SECONDS
from tests.report.reading import Element, parse

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-port=0",
    "--hide-scrollbars",
)  # fmt: skip

LEAVING = {
    "Inspected target navigated or closed",
    "Execution context was destroyed.",
    "Cannot find context with specified id",
}
"""Errors of the browser for a script of a page that is being left for another one."""


class PageLeft(Exception):
    """The page was left before its script returned."""


class Tab:
    """One page in the browser; `problems` are the errors its console and its scripts reported."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.number = 0
        self.problems: list[str] = []
        for domain in ("Page", "Runtime", "Log"):
            self.send(f"{domain}.enable")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and return its answer; keep what the page reports meanwhile."""
        self.number += 1
        self.connection.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.connection.recv(timeout=180))
            if message.get("id") == self.number:
                if message.get("error", {}).get("message") in LEAVING:
                    raise PageLeft(method, message)
                assert "error" not in message, (method, message)
                return message["result"]
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        about = message.get("params", {})
        if message.get("method") == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(about["exceptionDetails"])[:600])
        elif message.get("method") == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.problems.append(about["entry"]["text"])
        elif message.get("method") == "Runtime.consoleAPICalled" and about["type"] in {"error", "assert"}:
            self.problems.append(json.dumps(about["args"])[:600])

    def run(self, script: str) -> Any:
        """Evaluate a script in the page, wait for its promise, and return its value."""
        answer = self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def show(self, width: int, height: int = 900, scheme: str = "light", media: str = "") -> None:
        """Set the size of the window, and the preferences of the reader."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.send("Emulation.setEmulatedMedia", media=media, features=features)

    def open(self, address: str) -> None:
        """Load a page and wait until it is complete."""
        self.send("Page.navigate", url="about:blank")
        self.send("Page.navigate", url=address)
        try:
            self.wait("document.readyState === 'complete' && !!document.documentElement.dataset.page")
        except AssertionError as error:
            raise AssertionError(f"{address} did not open: {self.problems}") from error

    def go(self, place: str) -> None:
        """Open an address inside the page, and draw all its figures."""
        self.run(f"location.hash = {json.dumps(place)}")
        self.run("window.faultline.drawAll()")
        self.wait("!document.querySelector('[data-drawing]')")

    def wait(self, condition: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until a condition of the page holds; it does not hold while the page changes or has no document yet."""
        end = time.monotonic() + seconds
        while not self._holds(condition):
            assert time.monotonic() < end, condition
            time.sleep(0.02)

    def _holds(self, condition: str) -> bool:
        try:
            return bool(self.run(condition))
        except PageLeft:
            return False


@contextmanager
def browser(profile: Path) -> Iterator[Tab]:
    """Start a browser with its own profile, and end it afterwards."""
    program = next((path for path in map(shutil.which, PROGRAMS) if path), None)
    assert program, (
        "no browser to open the report in: install Debian's package `chromium` (apt-get install chromium), "
        f"or put one of {', '.join(PROGRAMS)} on the PATH"
    )
    profile.mkdir(parents=True, exist_ok=True)
    command = [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        port = _port(profile / "DevToolsActivePort")
        with urlopen(f"http://127.0.0.1:{port}/json/list") as answer:
            address = next(page["webSocketDebuggerUrl"] for page in json.load(answer) if page["type"] == "page")
        with connect(address, max_size=None) as connection:
            yield Tab(connection)
    finally:
        process.terminate()
        process.wait(timeout=PATIENCE_SECONDS)


def opened(page: Path, profile: Path) -> Element:
    """Open a page as a file and return the document that the browser made."""
    with browser(profile) as tab:
        tab.send("Page.navigate", url=page.resolve().as_uri())
        tab.wait("location.protocol === 'file:' && document.readyState === 'complete'")
        return parse(tab.run("document.documentElement.outerHTML"))


def _port(file: Path) -> str:
    end = time.monotonic() + PATIENCE_SECONDS
    while not (file.exists() and file.read_text().strip()):
        assert time.monotonic() < end, "the browser did not start"
        time.sleep(0.05)
    return file.read_text().splitlines()[0]
