"""Works published studies out again from their data; `--write FILE` writes the page of the docs."""

from __future__ import annotations

import sys
from importlib import import_module

from orchestration.pages import page_options, put_page
from tests.studies import DataMissingError
from tests.studies.page import page

STUDIES = ("lanl", "titan", "hbd", "alpine")


def main() -> int:
    """Read, refresh, fit, print."""
    options = page_options("tests.studies", __doc__).parse_args()
    try:
        studies = [import_module(f"tests.studies.{name}").study() for name in STUDIES]
    except DataMissingError as error:
        print(error, file=sys.stderr)
        return 1
    put_page(page(studies), options.write)
    wrong = [figure for study in studies for figure in study.figures if figure.agrees != figure.follows]
    for figure in wrong:
        print(
            f"{figure.source}, {figure.quantity}: {figure.printed} was published, ours is {figure.ours}",
            file=sys.stderr,
        )
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
