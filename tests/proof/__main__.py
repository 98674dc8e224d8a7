"""Simulates every estimator and prints what came out; `--write FILE` writes it as a page of the docs."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.proof.page import page


def main() -> None:
    """Simulate, compare, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof", description=__doc__)
    parser.add_argument("--write", type=Path, metavar="FILE", help="also write the page here")
    options = parser.parse_args()
    text = page()
    print(text, end="")
    if options.write:
        options.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
