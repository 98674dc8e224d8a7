"""Prints what a refresh finds of what was planted for some questions, or for all."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from orchestration.settings.home import Home
from tests.recovery.planted import planted_part, questions, recover_planted


def main() -> None:
    """Simulate, refresh, compare, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.recovery.planted", description=__doc__)
    parser.add_argument("question", nargs="*", help="name of a module of tests/recovery/planted")
    asked = questions(*parser.parse_args().question)
    with tempfile.TemporaryDirectory(prefix="faultline-planted-") as folder:
        lines = recover_planted(asked, Home.at(Path(folder)))
    print("\n".join(planted_part(asked, lines)))


if __name__ == "__main__":
    main()
