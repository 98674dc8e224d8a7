"""The studies as a page of the docs: figures in, Markdown out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

from orchestration.pages import table
from tests.proof.published import Figure
from tests.studies import Study

HEAD = """# Published studies, worked out again

Numbers that others published, from their own data. This page is made by

<!-- needs: minutes -->
```sh
make studies
```

which reads the data from the folder that `FAULTLINE_STUDIES_DATA` names (by default `shared/samples/public` beside the
checkout), a folder per study: `lanl/`, `titan/`, `hbd/`, `alpine/`. `tests/studies/test_studies.py` asserts every
figure. A figure *agrees* if ours, rounded as it was printed, is the printed one.

Records of failures go through the product: they are read as `failures/` of a cluster, refreshed, and counted from
`marts.fct_unit_failures`. What was published without its data, by counts alone (the paper itself, Llama 3, ByteRobust,
Delta and others), stands in [estimators.md](estimators.md#published-figures).
"""


def page(studies: Iterable[Study]) -> str:
    """Write the whole page."""
    return "\n".join((HEAD, *(part for study in studies for part in _parts(study))))


def _parts(study: Study) -> list[str]:
    figures = table(("source", "figure", "published", "ours", "agrees"), map(_row, study.figures), WORDS)
    parts = [f"## {study.title}\n", textwrap.fill(study.about, 120, break_on_hyphens=False) + "\n", figures]
    for heading, header, rows in study.besides:
        parts += [textwrap.fill(heading, 120, break_on_hyphens=False) + "\n", table(header, rows)]
    return parts


WORDS = ("source", "figure", "agrees")


def _row(figure: Figure) -> tuple[str, ...]:
    return (
        figure.source,
        figure.quantity,
        figure.printed,
        _as_printed(figure),
        "yes" if figure.agrees else f"no: {figure.note}",
    )


def _as_printed(figure: Figure) -> str:
    """Write ours with one digit more than was printed."""
    digits = len(figure.printed.partition(".")[2])
    return f"{figure.ours:,.{digits + 1 if digits else 0}f}"
