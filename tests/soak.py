"""Sixty nights of refreshes on the command line, with all kinds of errors, compared with a calm home.

With `python -m tests.soak --out FOLDER`, `tests.sources.nights` changes the files of two clusters as sites do. The home
has two simulated clusters as well, and `faultline refresh` runs as a process every night. Refreshes are killed, the
clock steps back by 40 days, the working file is cut off, and readers go back to an earlier publication. A calm home
sees the same folders and publishes once at the end, with `--full`, one thread and little memory. Both must be equal.
Each night adds a line of JSON to FOLDER/log.jsonl; the last line names the tables that differ.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

from assets.simulation import simulate
from assets.sources.formats import READERS
from assets.warehouse import Warehouse
from orchestration.publication.folders import current_publication, leftovers
from orchestration.settings.home import Home
from tests.published import content_of
from tests.sources.folders import load_results
from tests.sources.nights import Site

FAULTLINE = Path(sys.executable).with_name("faultline")
EVENTS = ("killed", "killed", "clock", "damaged", "rolled back", None, None, None)
"""Other events of a night. Each round of this many nights has every event once, in random order."""
LITTLE = {"FAULTLINE_THREADS": "1", "FAULTLINE_MEMORY": "1GB"}


class Soak:
    """A home with logs that change each night, and a calm home that sees the same folders.

    Parameters
    ----------
    folder
        A new folder for both homes and the log.
    seed
        The seed of the changes of files, and of the order of the events.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.home, self.calm, self.rng = Home.at(folder / "home"), Home.at(folder / "calm"), Random(seed)
        self.log, self.number, self.events = folder / "log.jsonl", -1, list[str | None]()
        simulate("demo", folder / "simulated", days=10, scale=0.1)
        shutil.copytree(folder / "simulated" / "sources", self.home.sources)
        self.sites = [Site(self.home.sources / name, self.rng) for name in ("c1", "c2")]

    def night(self, *, is_last: bool = False) -> None:
        """Let files change and an event happen, and refresh. The calm home reads the same files."""
        self.number += 1
        for site in self.sites[: 1 + (self.number > 0)]:
            site.night(is_last=is_last)
        if self.number > 1 and not self.events:
            self.events = self.rng.sample(EVENTS, len(EVENTS))
        event, started = self.events.pop() if self.number > 1 else None, time.monotonic()
        if event == "killed":
            self._kill_a_refresh()
        elif event == "damaged":
            # Rows of removed files are lost with the working file.
            os.truncate(self.home.working_file, self.home.working_file.stat().st_size // 2)
            shutil.rmtree(self.calm.root)
        elif event == "rolled back":
            self._run("rollback", "--home", self.home.root)
        done = self._run("refresh", "--home", self.home.root, prefix=["faketime", "-40 days"] * (event == "clock"))
        self._see()
        current = current_publication(self.home)
        self._note(
            night=self.number, event=event, exit=done.returncode, seconds=round(time.monotonic() - started),
            publication=current.number if current else None, leftovers=len(leftovers(self.home)),
            error=done.stderr[-500:] if done.returncode else "",
        )  # fmt: skip

    def end(self) -> tuple[dict[str, list[tuple]], list[str]]:
        """Publish the calm home. Return its tables, and the names of those that differ."""
        done = self._run("refresh", "--full", "--home", self.calm.root, **LITTLE)
        assert done.returncode == 0, done.stderr
        found, expected = content_of(self.home.published_file), content_of(self.calm.published_file)
        different = [name for name in sorted(found.keys() | expected.keys()) if found.get(name) != expected.get(name)]
        self._note(tables=len(expected), rows=sum(map(len, expected.values())), different=different)
        return expected, different

    def _run(
        self, *arguments: object, prefix: list[str] | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        command = [*(prefix or []), str(FAULTLINE), *map(str, arguments)]
        return subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, check=False)

    def _kill_a_refresh(self) -> None:
        """Begin a refresh and kill it and its children after some lines of output. Readers must see no change."""
        before = self.home.published_file.read_bytes()
        command = [FAULTLINE, "refresh", "--home", self.home.root]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )
        assert process.stdout is not None
        for _ in zip(range(self.rng.randrange(1, 9)), process.stdout, strict=False):
            pass
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert self.home.published_file.read_bytes() == before

    def _see(self) -> None:
        """Let the calm home read the folder without a publication."""
        shutil.rmtree(self.calm.sources, ignore_errors=True)
        shutil.copytree(self.home.sources, self.calm.sources)
        with Warehouse(path=str(self.calm.working_file)).writing() as con:
            load_results(self.calm.sources, con, READERS)

    def _note(self, **line: object) -> None:
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def main() -> None:
    """Run the soak and leave with 1 if the homes differ."""
    parser = argparse.ArgumentParser(description="Sixty nights with all kinds of errors, compared with a calm home.")
    parser.add_argument("--out", type=Path, required=True, help="A new folder for homes, logs and log.jsonl")
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True)
    soak = Soak(given.out.resolve(), given.seed)
    for night in range(given.nights):
        soak.night(is_last=night == given.nights - 1)
    sys.exit(1 if soak.end()[1] else 0)


if __name__ == "__main__":
    main()
