"""The studies as a page of the docs: figures in, Markdown out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from tests.docs.writers.pages import table
from tests.proof.published import Figure
from tests.studies import Study

HEAD = """# Published studies, worked out again

Numbers that others published, from their own data. This page is made by

<!-- needs: minutes -->
```sh
make studies
```

which reads the folder that `FAULTLINE_STUDIES_DATA` names, by default `shared/samples/public` next to the checkout. For
missing data, the command names each file and how to fetch it. `tests/studies/test_studies.py` asserts every figure. A
figure *agrees* if ours, rounded as it was printed, is the printed one. A figure that is *worked out* was computed from
the same data by other code.

Records of failures go through the product: they are read as `failures/` of a cluster, refreshed, and counted from
`marts.fct_unit_failures`. Figures that were published without their data are in
[estimators.md](estimators.md#published-figures).
"""


def page(studies: Iterable[Study]) -> str:
    """Write the whole page."""
    return "\n".join((HEAD, *map(section, studies)))


def section(study: Study) -> str:
    """Write what the page says of a study: each published figure, and how many that were worked out agree."""
    agreeing = [figure for figure in study.figures if figure.source.startswith("worked out") and figure.agrees]
    shown = [figure for figure in study.figures if figure not in agreeing]
    parts = [f"## {study.title}\n", _filled(study.about)]
    parts += [table(("figure", "published", "ours", "agrees"), map(_row, shown), ("figure", "agrees"))]
    parts += [f"Figures worked out that agree as well: {len(agreeing)}.\n"] if agreeing else []
    for heading, header, rows in study.further:
        parts += [_filled(heading), table(header, rows)]
    return "\n".join(parts)


def _filled(text: str) -> str:
    return textwrap.fill(text, 120, break_on_hyphens=False) + "\n"


def _row(figure: Figure) -> tuple[str, ...]:
    verdict = "yes" if figure.agrees else f"no, by {_as_printed(figure, figure.difference, '+')}: {figure.note}"
    return figure.quantity, figure.printed, _as_printed(figure, figure.ours), verdict


def _as_printed(figure: Figure, value: float, sign: str = "") -> str:
    """Write a value with one digit more than was printed."""
    digits = len(figure.printed.partition(".")[2])
    return f"{value:{sign},.{digits + 1 if digits else 0}f}"
