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

which reads the data from the folder that `FAULTLINE_STUDIES_DATA` names (by default `shared/samples/public` beside the
checkout), a folder per study: `lanl/`, `titan/`, `hbd/`, `alpine/`. `tests/studies/test_studies.py` asserts every
figure. Where data are missing, the command names each file and how to fetch it. A figure *agrees* if ours, rounded as
it was printed, is the printed one. What is *worked out* no source printed: it was computed from the same data, apart
from this code.

Records of failures go through the product: they are read as `failures/` of a cluster, refreshed, and counted from
`marts.fct_unit_failures`. What was published without its data, by counts alone (the paper itself, Llama 3, ByteRobust,
Delta and others), stands in [estimators.md](estimators.md#published-figures).
"""


def page(studies: Iterable[Study]) -> str:
    """Write the whole page."""
    return "\n".join((HEAD, *map(section, studies)))


def section(study: Study) -> str:
    """Write what the page says of a study."""
    stated = "stated" if any(figure.source.startswith(WORKED_OUT) for figure in study.figures) else "published"
    figures = table(("source", "figure", stated, "ours", "agrees"), map(_row, study.figures), WORDS)
    parts = [f"## {study.title}\n", textwrap.fill(study.about, 120, break_on_hyphens=False) + "\n", figures]
    for heading, header, rows in study.besides:
        parts += [textwrap.fill(heading, 120, break_on_hyphens=False) + "\n", table(header, rows)]
    return "\n".join(parts)


WORKED_OUT = "worked out"
WORDS = ("source", "figure", "agrees")


def _row(figure: Figure) -> tuple[str, ...]:
    return (
        figure.source,
        figure.quantity,
        figure.printed,
        _as_printed(figure, figure.ours),
        "yes" if figure.agrees else f"no, by {_as_printed(figure, figure.difference, '+')}: {figure.note}",
    )


def _as_printed(figure: Figure, value: float, sign: str = "") -> str:
    """Write a value with one digit more than was printed."""
    digits = len(figure.printed.partition(".")[2])
    return f"{value:{sign},.{digits + 1 if digits else 0}f}"
