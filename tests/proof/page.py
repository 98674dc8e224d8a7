"""The proof as a page of the docs: measurements go into the tables of the page, whose words stay as they are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import scipy

from tests.docs.writers.pages import table
from tests.model.planted_fleets import Setting as LemonSetting
from tests.proof import counts, fits, reach, repairs
from tests.proof.agreement import SETTINGS, Agreement, Setting, compare
from tests.proof.lemon_lists import FLEETS, ListsFound, try_lists
from tests.proof.lemon_lists import SETTINGS as LEMON_SETTINGS
from tests.proof.promises import promise_rows
from tests.proof.published import FIGURES, Figure
from tests.proof.trial import Measured, Trial

PAGE = Path(__file__).parents[2] / "docs" / "estimators.md"
RUNS = 4000
"""Simulated runs of each setting of the ETTR table."""

COVERAGE = (*counts.TRIALS, *reach.TRIALS, *repairs.TRIALS, *fits.TRIALS)


def with_rows(text: str, heading: str, rows: Iterable[tuple[str, ...]]) -> str:
    """Put rows into the first table below a heading of a page, whose header names the columns."""
    before, found, after = text.partition(f"\n{heading}\n")
    above, header, below = re.split(r"^(\| .*\n\| -.*\n)", after, maxsplit=1, flags=re.MULTILINE)
    rest = re.sub(r"^(\|.*\n)*", "", below, count=1)
    body = table(("",), rows).split("\n", 2)[2]
    return "".join((before, found, above, header, body, rest))


def _is_as_asked(trial: Trial, measured: Measured) -> bool:
    return trial.rule.holds(measured.share, measured.error)


def _measured(trial: Trial, measured: Measured) -> str:
    return f"{100 * measured.share:.1f}%" + ("" if _is_as_asked(trial, measured) else " **missed**")


def _bias(trial: Trial, measured: Measured) -> str:
    if math.isnan(measured.bias):
        return "-"
    return f"{100 * measured.bias:+z.1f}%" if trial.is_relative else f"{measured.bias:+z.3f}"


def _coverage_rows(tried: Mapping[Trial, Measured]) -> Iterator[tuple[str, ...]]:
    """Give a row for each estimator: the case of lowest coverage, or one that misses, and the largest bias."""
    for estimator in dict.fromkeys(trial.estimator for trial in tried):
        cases = {trial: measured for trial, measured in tried.items() if trial.estimator == estimator}
        trial, lowest = min(cases.items(), key=lambda case: (_is_as_asked(*case), case[1].share))
        bias = max(cases.values(), key=lambda measured: abs(measured.bias))
        name = estimator if trial.nominal == 0.9 else f"{estimator}, {trial.nominal:.0%} promised"
        yield name, trial.simulated, str(trial.rule), _measured(trial, lowest), _bias(trial, bias)


def _verdict_row(trial: Trial, measured: Measured) -> tuple[str, ...]:
    return trial.estimator, trial.simulated, str(trial.rule), _measured(trial, measured)


def _ettr_row(setting: Setting, found: Agreement) -> tuple[str, ...]:
    return (
        f"{setting.gpu_count:,}", f"{1000 * setting.rate:.2f}",
        f"{setting.checkpoint:g}, {setting.write:g}, {setting.queue:g}", f"{found.exact:.4f}", f"{found.simulated:.4f}",
        f"{100 * found.published_bias:+z.1f}%",
    )  # fmt: skip


def _lemon_row(setting: LemonSetting, found: ListsFound) -> tuple[str, ...]:
    missed = "" if found.is_as_asked() else " **missed**"
    factor = f"{setting.factor:g}{', the fleet' if setting.is_of_fleet else ''}"
    return (
        str(setting.days), factor if setting.lemon_count else "no lemons", f"{setting.known_share:.0%}",
        f"{100 * found.false_discovery_rate:.0f}%{missed}",
        "-" if math.isnan(found.recall) else f"{100 * found.recall:.0f}%", f"{100 * found.refused:.0f}%",
    )  # fmt: skip


def _as_printed(figure: Figure) -> str:
    """Show one digit more than the source, so that rounding can be followed."""
    decimals = len(figure.printed.partition(".")[2]) + 1
    return f"{figure.ours:,.{decimals}f}"


def _function_rows() -> Iterator[tuple[str, ...]]:
    """Give a row for each function: how many figures it was asked for, and how many agree."""
    for function in dict.fromkeys(figure.function for figure in FIGURES):
        figures = [figure for figure in FIGURES if figure.function == function]
        name = "sums of counts" if function == "-" else f"`{function}`"
        yield name, str(len(figures)), str(sum(figure.agrees for figure in figures))


def with_published(text: str) -> str:
    """Put the figures that others published into the page; nothing is simulated."""
    differing = [
        (figure.source.partition(",")[0], figure.quantity, figure.printed, _as_printed(figure), figure.note)
        for figure in FIGURES
        if not figure.agrees
    ]
    return with_rows(with_rows(text, "## Published figures", _function_rows()), "### Figures that differ", differing)


def page() -> str:
    """Simulate everything and write the page."""
    text = PAGE.read_text(encoding="utf-8")
    covered = {trial: trial.measure(trial.rounds) for trial in COVERAGE}
    verdicts = [trial.measure(trial.rounds) for trial in fits.VERDICTS]
    versions = rf"\g<1>{np.__version__}\g<2>{scipy.__version__}"
    text = re.sub(r"(made with numpy )\S+( and scipy )[^)]+", versions, text)
    rows = {
        "## Coverage and error": _coverage_rows(covered),
        "## False and missed findings": map(_verdict_row, fits.VERDICTS, verdicts),
        "## Verdicts where nothing is planted": promise_rows(),
        "## Lists of lemons": (_lemon_row(setting, try_lists(setting, FLEETS)) for setting in LEMON_SETTINGS),
        "## Expected ETTR": (_ettr_row(setting, compare(setting, RUNS)) for setting in SETTINGS),
    }
    for heading, of_table in rows.items():
        text = with_rows(text, heading, of_table)
    return with_published(text)
