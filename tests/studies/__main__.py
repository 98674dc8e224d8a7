"""Works published studies out again from their data; `--write FILE` writes the page of the docs."""

from __future__ import annotations

import sys
import time
from importlib import import_module

from tests.docs.writers.pages import page_options, put_page
from tests.studies import Study, missing_data
from tests.studies.page import page

STUDIES = ("lanl", "titan", "hbd", "alpine")


def main() -> int:
    """Read, refresh, fit, print."""
    options = page_options("tests.studies", __doc__).parse_args()
    if missing := [*missing_data()]:
        print("\n".join(missing), file=sys.stderr)
        return 1
    studies = [_timed(name) for name in STUDIES]
    put_page(page(studies), options.write)
    wrong = [figure for study in studies for figure in study.figures if figure.agrees != figure.follows]
    for figure in wrong:
        print(
            f"{figure.source}, {figure.quantity}: {figure.printed} was stated, ours is {figure.ours}",
            file=sys.stderr,
        )
    return bool(wrong)


def _timed(name: str) -> Study:
    """Work a study out, and say how long it took: the first with records of failures refreshes them all."""
    started = time.monotonic()
    study: Study = import_module(f"tests.studies.{name}").study()
    print(f"{name}: {len(study.figures)} figures in {time.monotonic() - started:.0f} s", file=sys.stderr)
    return study


if __name__ == "__main__":
    sys.exit(main())
