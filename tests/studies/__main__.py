"""Works published studies out again from their data; `--write FILE` writes the page of the docs."""

from __future__ import annotations

import sys
from importlib import import_module

from tests.docs.writers.pages import page_options, put_page
from tests.studies import missing_data
from tests.studies.page import page

STUDIES = ("lanl", "titan", "hbd", "alpine")


def main() -> int:
    """Read, refresh, fit, print."""
    options = page_options("tests.studies", __doc__).parse_args()
    if missing := [*missing_data()]:
        print("\n".join(missing), file=sys.stderr)
        return 1
    studies = [import_module(f"tests.studies.{name}").study() for name in STUDIES]
    put_page(page(studies), options.write)
    wrong = [figure for study in studies for figure in study.figures if figure.agrees != figure.follows]
    for figure in wrong:
        print(
            f"{figure.source}, {figure.quantity}: {figure.printed} was stated, ours is {figure.ours}",
            file=sys.stderr,
        )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
