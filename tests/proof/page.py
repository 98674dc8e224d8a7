"""The proof as a page of the docs: measurements go into the tables of the page, whose words stay as they are."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
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
from tests.proof.published import SECTIONS, Figure
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


def _with_error(measured: Measured) -> str:
    return f"{100 * measured.share:.1f}% ± {100 * measured.error:.1f}"


def _errors(trial: Trial, measured: Measured) -> tuple[str, str]:
    if math.isnan(measured.bias):
        return "-", "-"
    if trial.is_relative:
        return f"{100 * measured.bias:+z.1f}% ± {100 * measured.bias_error:.1f}", f"{100 * measured.spread:.1f}%"
    return f"{measured.bias:+z.3f} ± {measured.bias_error:.3f}", f"{measured.spread:.3f}"


def _coverage_row(trial: Trial, measured: Measured) -> tuple[str, ...]:
    return (
        trial.estimator, trial.simulated, f"{100 * trial.nominal:g}%", _with_error(measured), str(trial.rule),
        *_errors(trial, measured), f"{trial.rounds:,}", str(trial.seed),
    )  # fmt: skip


def _verdict_row(trial: Trial, measured: Measured) -> tuple[str, ...]:
    return (
        trial.estimator, trial.simulated, str(trial.rule), _with_error(measured), f"{trial.rounds:,}", str(trial.seed),
    )  # fmt: skip


def _ettr_row(setting: Setting, found: Agreement) -> tuple[str, ...]:
    return (
        f"{setting.gpu_count:,}", f"{1000 * setting.rate:.2f}", f"{setting.checkpoint:g}", f"{setting.write:g}",
        f"{setting.queue:g}", f"{found.published:.4f}", f"{found.exact:.4f}",
        f"{found.simulated:.4f} ± {found.standard_error:.4f}", f"{found.errors_apart:+.1f}",
        f"{100 * found.published_bias:+z.1f}%", str(setting.seed),
    )  # fmt: skip


def _lemon_row(setting: LemonSetting, found: ListsFound) -> tuple[str, ...]:
    def share(value: float, error: float | None = None) -> str:
        return "-" if math.isnan(value) else f"{100 * value:.0f}%" + ("" if error is None else f" ± {100 * error:.0f}")

    return (
        str(setting.days), f"{setting.lemon_count}", f"{setting.factor:g}" if setting.lemon_count else "-",
        "the fleet" if setting.is_of_fleet else "normal nodes", f"{setting.known_share:.0%}",
        share(found.false_discovery_rate, found.false_discovery_error), share(found.precision),
        share(found.recall, found.recall_error), f"{found.listed:.1f}", share(found.refused),
    )  # fmt: skip


def _as_printed(figure: Figure) -> str:
    """Show one digit more than the source, so that rounding can be followed."""
    decimals = len(figure.printed.partition(".")[2]) + 1
    return f"{figure.ours:,.{decimals}f}"


def _figure_row(figure: Figure) -> tuple[str, ...]:
    verdict = "yes" if figure.agrees else f"no: {figure.note}"
    printed = figure.printed.replace(">", "above ")
    return figure.source, figure.quantity, f"`{figure.function}`", verdict, printed, _as_printed(figure)


def with_published(text: str) -> str:
    """Put the figures that others published into the page; nothing is simulated."""
    for name, figures in SECTIONS.items():
        text = with_rows(text, f"### {name}", map(_figure_row, figures))
    return text


def page() -> str:
    """Simulate everything and write the page."""
    text = PAGE.read_text(encoding="utf-8")
    covered = [trial.measure(trial.rounds) for trial in COVERAGE]
    verdicts = [trial.measure(trial.rounds) for trial in fits.VERDICTS]
    of = {(trial.estimator, trial.simulated): measured for trial, measured in zip(COVERAGE, covered, strict=True)}
    gamma = of[counts.PAPER, "3 failures expected"].share
    mttf = next(measured.bias for (name, _), measured in of.items() if "mttf_from_runtime" in name)
    said = {
        r"(made with numpy )\S+( and scipy )[^)]+": rf"\g<1>{np.__version__}\g<2>{scipy.__version__}",
        r"(Gamma quantiles hold the truth in )\d+%": rf"\g<1>{100 * gamma:.0f}%",
        r"(an MTTF comes out )\d+%": rf"\g<1>{100 * mttf:.0f}%",
    }
    for pattern, number in said.items():
        text = re.sub(pattern, number, text)
    rows = {
        "## Coverage and error": map(_coverage_row, COVERAGE, covered),
        "## False and missed findings": map(_verdict_row, fits.VERDICTS, verdicts),
        "## Verdicts where nothing is planted": promise_rows(),
        "## Lists of lemons": (_lemon_row(setting, try_lists(setting, FLEETS)) for setting in LEMON_SETTINGS),
        "## Expected ETTR": (_ettr_row(setting, compare(setting, RUNS)) for setting in SETTINGS),
    }
    for heading, of_table in rows.items():
        text = with_rows(text, heading, of_table)
    return with_published(text)
