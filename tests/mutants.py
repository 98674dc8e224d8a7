"""Mutants of the product: one constant, comparison, join or sign is changed, and the tests of its room must fail.

    python -m tests.mutants [--only 7,12]

The seed is constant, to compare suites. The command changes and restores files of the tree: run nothing else there.
"""

from __future__ import annotations

import argparse
import random
import re
import subprocess
import sys
import tokenize
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SEED = 68
ROOMS = {
    "model": (12, ("assets/model/**/*.py",), ("assets/model", "tests/model")),
    "attribution": (
        9,
        ("assets/model/attribution/*.py", "dbt_project/models/intermediate/failures/*.sql"),
        ("tests/dbt/test_unit_tests.py", "assets/model", "tests/model", "tests/dbt", "tests/estimates"),
    ),
    "reading": (
        9,
        ("assets/sources/**/*.py", "assets/sources/**/*.sql"),
        ("tests/sources/test_file_cases.py", "tests/sources"),
    ),
}
"""The number of mutants, the code and the tests of each room."""

CHANGES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "left join": "join"}
SQL = re.compile(r"(?<=\s)(?:left join|<=|>=|<|>|\+|-|\d+)(?=[\s,)]|$)", re.M)


class Mutant(NamedTuple):
    """One change: its byte in the text, the old text and the new text."""

    room: str
    path: Path
    start: int
    old: str
    new: str


def _places(path: Path) -> list[tuple[int, str]]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".sql":
        bare = re.sub(r"--.*|\{#.*?#\}", lambda comment: " " * len(comment[0]), text)
        return [(found.start(), found[0]) for found in SQL.finditer(bare)]
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    with path.open(encoding="utf-8") as file:
        tokens = [one for one in tokenize.generate_tokens(file.readline) if one.type in (tokenize.OP, tokenize.NUMBER)]
    return [(lines[one.start[0] - 1] + one.start[1], one.string) for one in tokens]


def drawn() -> list[Mutant]:
    """Draw the mutants of every room: a file for each mutant, different ones if possible, and a place in it."""
    mutants = []
    for room, (count, patterns, _) in ROOMS.items():
        rng = random.Random(f"{SEED} {room}")
        paths = sorted({path for pattern in patterns for path in ROOT.glob(pattern)})
        if room == "model":
            paths = [path for path in paths if path.parent.name != "attribution"]
        places = {path: [place for place in _places(path) if _changed(place[1])] for path in paths}
        places = {path: found for path, found in places.items() if found}
        chosen = rng.sample(sorted(places), min(count, len(places)))
        chosen += rng.choices(sorted(places), k=count - len(chosen))
        for path in chosen:
            start, old = rng.choice(places[path])
            mutants.append(Mutant(room, path, start, old, _changed(old)))
    return mutants


def _changed(old: str) -> str:
    return str(int(old) + 1) if old.isdecimal() else CHANGES.get(old, "")


def killer(mutant: Mutant) -> str | None:
    """Return the test that fails on a mutant, or None if all pass."""
    text = mutant.path.read_text(encoding="utf-8")
    mutant.path.write_text(text[: mutant.start] + mutant.new + text[mutant.start + len(mutant.old) :], encoding="utf-8")
    nearest = [str(path) for path in ROOT.glob(f"tests/*/test_*{mutant.path.stem}.py")]
    try:
        for tests in ((*nearest, *ROOMS[mutant.room][2]), ("tests/minimal",)):
            command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-n", "0", *tests]
            run = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
            if run.returncode:
                failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", run.stdout, re.M)
                return failed[0] if failed else f"exit {run.returncode}"
        return None
    finally:
        mutant.path.write_text(text, encoding="utf-8")


def main() -> None:
    """Print each mutant with the test that kills it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", type=lambda text: {int(one) for one in text.split(",")})
    only = parser.parse_args().only
    for number, mutant in enumerate(drawn()):
        if not only or number in only:
            line = mutant.path.read_text(encoding="utf-8")[: mutant.start].count("\n") + 1
            place = f"{mutant.path.relative_to(ROOT)}:{line}: {mutant.old} -> {mutant.new}"
            print(number, mutant.room, place, killer(mutant) or "SURVIVES", sep="\t", flush=True)


if __name__ == "__main__":
    main()
