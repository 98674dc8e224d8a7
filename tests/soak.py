"""Sixty nights of a small cluster, with everything that goes wrong in two months; at the end, an empty home's tables.

`python -m tests.soak --out FOLDER` simulates two small clusters, lets their logs come day by day, and runs
`faultline refresh` as a process every night. Days come late, files come twice, refreshes are killed, one night's
accounting is spoiled, a file is empty, the clock steps back by 40 days, the working file is cut off, readers go back to
an earlier publication, and Faultline itself changes: `--before CODE` names a folder with the code of the first nights.
Each night leaves a line of JSON in FOLDER/log.jsonl; the last one says whether all tables equal those of an empty home.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from assets.simulation import simulate
from orchestration.publication.folders import current_publication, leftovers, problem_of_current
from orchestration.settings.home import PROJECT, Home
from tests.published import content_of
from tests.sources.nights import day_of

NIGHTS = 60
UPGRADE_AFTER = 1 / 3
"""Of all nights: so many are refreshed by the code of before."""
EVENTS = (*["kill"] * 4, "poison", "empty", "clock", "damage", "rollback", *["double"] * 3)
"""Each comes once, in a night of its own after the upgrade; doubled files and kills before it as well."""


@dataclass
class Soak:
    """A home whose logs grow, and what happens to it on which night."""

    home: Home
    complete: Path
    nights: int
    every: int
    before: Path | None
    rng: random.Random
    log: Path
    undo: list[Callable[[], None]] = field(default_factory=list)
    usual_seconds: float = 60.0

    def due(self) -> dict[Path, int]:
        """Tell in which night each file comes: one in ten is up to 20 nights late, and none comes after the last."""
        files = sorted(path for path in self.complete.rglob("*") if path.is_file())
        first = min(day for path in files if (day := day_of(path)) and path.parent.name == "sacct")
        found = {}
        for path in files:
            day = day_of(path)
            night = 0 if day is None else max(0, _days(first, day))
            found[path] = night + (self.rng.randrange(1, 21) if night and self.rng.random() < 0.1 else 0)
        return {path: min(night, self.nights) for path, night in found.items()}

    def plan(self) -> dict[int, str]:
        """Deal the events out to nights that are refreshed."""
        return deal(self.nights, self.every, self.rng)

    def run(self) -> bool:
        """Live through all nights; tell whether the end is what an empty home makes of the same files."""
        due, plan = self.due(), self.plan()
        for night in range(self.nights + 1):
            for undo in self.undo:
                undo()
            self.undo.clear()
            for path in (due_file for due_file, when in due.items() if when == night):
                target = self.home.sources / path.relative_to(self.complete)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)
            if night in (0, self.nights) or night % self.every == 0:
                self._refresh_night(night, plan.get(night))
        return self._compare()

    def _refresh_night(self, night: int, event: str | None) -> None:
        is_before = self.before is not None and night < self.nights * UPGRADE_AFTER
        if event is not None and not (is_before and event not in ("kill", "double")):
            getattr(self, f"_{event}")(is_before)
        else:
            event = None
        started = time.monotonic()
        done = self._refresh(is_before, clock=event == "clock")
        seconds = time.monotonic() - started
        record = {
            "night": night,
            "event": event,
            "code": "before" if is_before else "now",
            "exit": done.returncode,
            "seconds": round(seconds),
        }
        if not is_before:
            current = current_publication(self.home)
            record |= {
                "publication": current.number if current else None,
                "leftovers": len(leftovers(self.home)),
                "damaged": problem_of_current(self.home),
            }
        said = [
            line for line in done.stdout.splitlines() if "damaged" in line or "made by" in line or "version" in line
        ]
        self._tell(
            record | {"said": [line[:300] for line in said], "error": done.stderr[-500:] if done.returncode else ""}
        )
        if done.returncode == 0:
            self.usual_seconds = seconds

    def _command(self, is_before: bool) -> tuple[list[str], dict[str, str]]:
        code = self.before if is_before and self.before else PROJECT
        start = "from orchestration.cli import main; main()"
        return [sys.executable, "-c", start], os.environ | {"PYTHONPATH": str(code)}

    def _refresh(self, is_before: bool, clock: bool = False) -> subprocess.CompletedProcess[str]:
        command, environment = self._command(is_before)
        prefix = ["faketime", "-40 days"] if clock else []
        command = [*prefix, *command, "refresh", "--home", str(self.home.root)]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, cwd=self.log.parent
        )

    def _kill(self, is_before: bool) -> None:
        """Begin a refresh and kill it and all its children at some moment."""
        command, environment = self._command(is_before)
        process = subprocess.Popen(
            [*command, "refresh", "--home", str(self.home.root)],
            env=environment, cwd=self.log.parent, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            process.wait(self.rng.uniform(0.1, 1.0) * self.usual_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _poison(self, _: bool) -> None:
        """Spoil every second line of one cluster's newest accounting until the next night."""
        for path in self._newest("sacct")[:1]:
            good = path.read_bytes()
            lines = good.splitlines(keepends=True)
            path.write_bytes(
                b"".join([lines[0], *(b"garbage\n" if n % 2 else line for n, line in enumerate(lines[1:]))])
            )
            self.undo.append(lambda path=path, good=good: path.write_bytes(good))

    def _empty(self, _: bool) -> None:
        """Put empty exports beside the others until the next night; of accounting in one cluster only."""
        for path in (*self._newest("sacct")[:1], *self._newest("health")):
            empty = path.with_name(f"empty-{path.name}")
            empty.touch()
            self.undo.append(empty.unlink)

    def _clock(self, _: bool) -> None:
        """Leave it to the refresh of this night."""

    def _damage(self, _: bool) -> None:
        """Cut the working file off."""
        os.truncate(self.home.working_file, self.home.working_file.stat().st_size // 2)

    def _rollback(self, is_before: bool) -> None:
        command, environment = self._command(is_before)
        subprocess.run([*command, "rollback", "--home", str(self.home.root)], env=environment, check=True)

    def _double(self, _: bool) -> None:
        """Have a few files twice until the next night."""
        files = sorted(path for path in self.home.sources.rglob("*") if path.is_file() and day_of(path) is not None)
        for path in self.rng.sample(files, min(5, len(files))):
            again = path.with_name(f"again-{path.name}")
            shutil.copy2(path, again)
            self.undo.append(again.unlink)

    def _newest(self, kind: str) -> list[Path]:
        return [
            max(folder.iterdir(), key=lambda path: (day_of(path) or date.min, path.name))
            for folder in sorted(self.home.sources.glob(f"*/{kind}"))
            if any(folder.iterdir())
        ]

    def _compare(self) -> bool:
        fresh = Home.at(self.log.parent / "fresh")
        shutil.copytree(self.home.sources, fresh.sources)
        command, environment = self._command(False)
        subprocess.run(
            [*command, "refresh", "--home", str(fresh.root)], env=environment, check=True, capture_output=True
        )
        found, expected = content_of(self.home.published_file), content_of(fresh.published_file)
        names = sorted(found.keys() | expected.keys())
        different = [name for name in names if found.get(name) != expected.get(name)]
        rows = sum(map(len, expected.values()))
        self._tell({"tables": len(names), "rows": rows, "different": different, "is_equal": not different})
        return not different

    def _tell(self, line: dict[str, object]) -> None:
        with self.log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        sys.stdout.write(json.dumps(line) + "\n")
        sys.stdout.flush()


def deal(nights: int, every: int, rng: random.Random) -> dict[int, str]:
    """Give each event a night of its own that is refreshed; those that 0.1.0 does not know come after the upgrade."""
    late = [night for night in range(1, nights) if night % every == 0 and night >= nights * UPGRADE_AFTER]
    early = [night for night in range(1, nights) if night % every == 0 and night < nights * UPGRADE_AFTER]
    plan = dict(zip(rng.sample(late, min(len(EVENTS), len(late))), EVENTS, strict=False))
    return plan | dict(zip(rng.sample(early, min(3, len(early))), ("kill", "double", "kill"), strict=False))


def _days(first: date, day: date) -> int:
    return (day - first).days


def main() -> None:
    """Run the soak and leave with 1 if the end is not what an empty home has."""
    parser = argparse.ArgumentParser(
        description="Sixty nights in which everything goes wrong, held against an empty home."
    )
    parser.add_argument("--out", type=Path, required=True, help="A new folder for home, logs and log.jsonl")
    parser.add_argument("--nights", type=int, default=NIGHTS)
    parser.add_argument("--every", type=int, default=1, help="Refresh every n-th night only")
    parser.add_argument("--scale", type=float, default=0.25, help="Share of the profile's nodes and jobs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--before", type=Path, help="Folder of the code that refreshes the first third of the nights")
    given = parser.parse_args()
    given.out.mkdir(parents=True)
    out = given.out.resolve()
    simulate("demo", out / "simulated", days=given.nights + 1, scale=given.scale, seed=given.seed)
    soak = Soak(
        Home.at(out / "home"), out / "simulated" / "sources", given.nights, given.every,
        given.before.resolve() if given.before else None, random.Random(given.seed), out / "log.jsonl",
    )  # fmt: skip
    sys.exit(0 if soak.run() else 1)


if __name__ == "__main__":
    main()
