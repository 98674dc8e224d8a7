"""The page docs/statistics.md: each estimate with its question, limits, thresholds and proofs, and the formulas.

The text comes from the specs of estimates and the docstrings of assets/model; proofs link to the pages that measure.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from assets.estimates.common_columns import HAS_ENOUGH_DATA
from assets.estimates.table import TableSpec
from assets.model.failure_rate import CONFIDENCE_LEVEL
from orchestration.read_commands.formulas import (
    ESTIMATES,
    MODEL,
    Formula,
    docstring,
    formulas_behind,
    formulas_of_module,
    thresholds_of,
)
from orchestration.settings.home import PROJECT
from tests.docs.writers.pages import table
from tests.docs.writers.tables_page import marts

ROOM = PROJECT / "assets" / "model"
OVERVIEW = ("estimate", "what it says")
MEASURES = ("column", "how it is measured")
MEASURED = "estimators"
COVERAGE = ("Coverage and error", "Lists of lemons")
"""The sections of docs/estimators.md that measure how often limits and lists contain the true value."""
PLANTED = {
    "From easy to hard": ("est_failure_rates", "est_rate_changes"),
    "Did the change help?": ("est_changes",),
    "Which check to trust": ("est_check_scores",),
    "Failures that Slurm does not call so": ("est_hidden_failures",),
    "Where in the machine": ("est_location_rates",),
    "Did the repair work": ("est_repairs",),
}
"""The sections of docs/recovery.md that compare a table with the faults planted in the logs."""
PUBLISHED = {"InfiniteHBD: 584 faults of 400 servers": ("est_unit_failure_rates",)}
"""The sections of docs/studies.md that query a table; the others name the function."""
COUNTED = {
    "fct_failures": ("posterior_probability", "lost_gpu_hours"),
    "fct_incidents": ("incident_probability",),
    "fct_job_runs": ("productive_hours", "ettr", "progress_ratio"),
    "fct_preemptions": ("instigator_rule", "second_order_probability", "lost_gpu_hours"),
    "agg_availability_monthly": ("availability", "error_budget_left", "burn_pace"),
}
"""The columns of marts with a measure, by table."""
INTRODUCTION = f"""# The statistics

`make docs` writes this page from the descriptions of the tables and the docstrings of the functions that fill them.
`faultline explain TABLE.COLUMN` prints the same for one column, with the files behind its numbers. The page of
[tables](tables.md#estimates) lists the columns.

## What holds for all estimates

* Limits are two-sided at {CONFIDENCE_LEVEL:.0%} unless stated otherwise. Each row has its `confidence_level`, and
  `method` names the kind of limits. NULL is unknown, never zero, and `note` says why a value is missing.
{textwrap.fill(f"* `has_enough_data`: {HAS_ENOUGH_DATA.description}", 120, subsequent_indent="  ")}
* A threshold is a named constant in the code, listed here with its value. If a table does not reach it, the answer
  is "cannot tell".
* Counts of failures are sums of probabilities: [attribution](#attributionposterior) estimates the probability that
  infrastructure ended an attempt. Failures of one incident are not independent:
  [incident_counts](#incident_counts) widens the limits.
* There are four kinds of proof. *Coverage*: how often limits contain a simulated true value
  ([estimators.md](estimators.md)). *Planted*: how much of the faults planted in simulated logs is found
  ([recovery.md](recovery.md)). *Published*: published figures, recomputed
  ([studies.md](studies.md), [estimators.md](estimators.md#published-figures)). *Tests* compare with hand-computed
  examples and other programs. [calibration.md](calibration.md) compares the simulated clusters with the paper of
  Kokolis et al. An estimate without measured coverage says so.
"""
MARTS = """## What is counted first

Estimates use what the logs say about single attempts, runs and nodes. `tests/recovery` compares it with planted faults
([recovery.md](recovery.md)), and [decisions](decisions.md#attribution) say why it is counted like this.
"""
FORMULAS = """## The formulas

The formulas are pure functions of numbers, by module of `assets/model`. Rates are failures per node-day; tables
multiply them by 1,000. Names in capitals are thresholds.
"""


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOM).with_suffix("").parts)


def page() -> str:
    """Return the page."""
    names = sorted(path.stem for path in (PROJECT / "assets" / "estimates").glob("est_*.py"))
    specs: list[TableSpec] = [import_module(f"{ESTIMATES}{name}").TABLE for name in names]
    rows = ((f"[{spec.table}](#{spec.table})", _answer(spec.table)) for spec in specs)
    parts = [INTRODUCTION, "## The estimates\n", table(OVERVIEW, rows, OVERVIEW), *map(_estimate, specs)]
    parts += [MARTS, table(MEASURES, _measures(), MEASURES), FORMULAS]
    modules = sorted(_dotted(path) for path in ROOM.rglob("*.py") if path.stem != "__init__")
    text = "\n".join([*parts, *(text for module in modules for text in _module(module, names))])
    return re.sub(r"\n{3,}", "\n\n", text)


def _measures() -> Iterator[tuple[str, str]]:
    """Yield the measures in marts, each with the description of its column."""
    for found in marts():
        for column in found.columns:
            if column.name in COUNTED.get(found.name, ()):
                yield f"[{found.name}](tables.md#{found.name}).{column.name}", column.description


def _answer(name: str) -> str:
    """Return the answer of a table: the first line of its module's docstring."""
    line = docstring(f"{ESTIMATES}{name}").partition("\n")[0].partition(": ")[2]
    return line[0].upper() + line[1:]


def _estimate(spec: TableSpec) -> str:
    columns = {column.name: column for column in spec.columns}
    formulas = _formulas(spec.table)
    modules = [name for name in dict.fromkeys(found.module for found in formulas) if _thresholds(f"{MODEL}{name}")]
    others = ", ".join(f"[{name}](#{name.replace('.', '')})" for name in modules)
    items = {
        "Limits": columns["method"].description,
        "Verdict": columns["verdict"].description if "verdict" in columns else "",
        "Thresholds": _thresholds(f"{ESTIMATES}{spec.table}") + (f"\n    * those of {others}" if others else ""),
        "Formulas": ", ".join(f"[{found.name}](#{found.name})" for found in formulas),
        "Proofs": _proofs(spec.table, formulas),
    }
    meaning = _wrapped(re.sub(r" One row per [^.]*\.$", "", spec.description))
    return "\n".join([f"### {spec.table}\n", meaning, "", *_listed(items), ""])


def _thresholds(module: str) -> str:
    lines = [f"    * `{found.name} = {found.value}`: {found.meaning}" for found in thresholds_of(module)]
    return "".join(f"\n{_wrapped(line, ' ' * 6)}" for line in lines)


@lru_cache
def _formulas(name: str, *, deep: bool = False) -> list[Formula]:
    return [found for found in formulas_behind(f"{ESTIMATES}{name}", deep=deep) if found.summary]


def _proofs(name: str, formulas: list[Formula]) -> str:
    """Return links to the proofs of a table's numbers, or that no coverage is measured."""
    behind = [f"`{found.name}`" for found in _formulas(name, deep=True)]
    sections = _sections(MEASURED)
    own = [heading for heading, text in sections.items() if f"`{name}`" in text]
    measured = {
        heading: [each for each in behind if each in text] for heading, text in sections.items() if "`est_" not in text
    }
    tests = sorted({test for found in formulas for test in _tests(found.module, found.name) if _covers(test)})
    proofs = [f"{_link(MEASURED, heading)} of {', '.join(found)}" for heading, found in measured.items() if found]
    proofs += [f"coverage in {', '.join(f'`{test}`' for test in tests)}"] if tests else []
    if not tests and not any(measured[heading] for heading in COVERAGE):
        proofs.append("not proven by coverage")
    proofs += [f"method: {_link(MEASURED, heading)}" for heading in own]
    proofs += [f"planted: {_link('recovery', heading)}" for heading, names in PLANTED.items() if name in names]
    proofs += [
        f"published: {_link('studies', heading)}"
        for heading, text in _sections("studies").items()
        if name in PUBLISHED.get(heading, ()) or any(each in text for each in behind)
    ]
    return f"{'; '.join(proofs)}."


@lru_cache
def _sections(name: str) -> dict[str, str]:
    """Return the sections of a page by their second-level headings."""
    _, *parts = re.split(r"^## ", (PROJECT / "docs" / f"{name}.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {part.partition("\n")[0]: part for part in parts}


def _link(name: str, heading: str) -> str:
    return f"[{heading}]({name}.md#{re.sub(r'[^a-z0-9 -]', '', heading.lower()).replace(' ', '-')})"


@lru_cache
def _tests(module: str, function: str) -> list[str]:
    """List the tests of the model that import a function: only the file named after its module, if there is one."""
    folder = PROJECT / "tests" / "model"
    own = folder / f"test_{module.replace('.', '_')}.py"
    line = re.compile(rf"^from {re.escape(MODEL + module)} import (\([^)]*|.*)\b{function}\b", re.MULTILINE)
    files = [own] if own.exists() else sorted(folder.glob("test_*.py"))
    return [str(file.relative_to(PROJECT)) for file in files if line.search(file.read_text(encoding="utf-8"))]


def _readers(module: str) -> list[str]:
    """List the files outside of estimates that import a module of the model."""
    files = (
        file for room in ("assets/report", "dbt_project", "orchestration") for file in (PROJECT / room).rglob("*.py")
    )
    line = f"from {MODEL}{module} import"
    return sorted(str(file.relative_to(PROJECT)) for file in files if line in file.read_text(encoding="utf-8"))


@lru_cache
def _covers(test: str) -> bool:
    return bool(re.search(r"\bcover(ed|s|age)\b", (PROJECT / test).read_text(encoding="utf-8")))


def _module(module: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the text on the formulas of a module, if it has any."""
    formulas = [found for found in formulas_of_module(f"{MODEL}{module}") if found.summary]
    if not any(found.notes or found.source for found in formulas):
        return
    used = [name for name in names if any(found.module == module for found in _formulas(name, deep=True))]
    tests = sorted({test for found in formulas for test in _tests(module, found.name)})
    yield f"### {module}\n\n{_plain(docstring(f'{MODEL}{module}'))}\n"
    items = {
        "Thresholds": _thresholds(f"{MODEL}{module}"),
        "Used by": ", ".join([f"[{name}](#{name})" for name in used] or [f"`{file}`" for file in _readers(module)]),
        "Tests": ", ".join(f"`{test}`{' (with coverage)' if _covers(test) else ''}" for test in tests),
    }
    yield from _listed(items)
    for found in formulas:
        yield f"\n#### {found.name}\n\n{_plain(found.summary)}\n"
        if found.result:
            yield f"{_filled(f'**Result:** {_plain(found.result)}')}\n"
        if found.notes:
            yield f"{_plain(found.notes)}\n"
        if found.source:
            yield f"{_filled(f'**Source:** {_plain(found.source)}')}\n"


def _listed(items: Mapping[str, str]) -> Iterator[str]:
    for title, text in items.items():
        if text.startswith("\n"):
            yield f"* **{title}**:{text}"
        elif text:
            yield _wrapped(f"* **{title}**: {text}", "  ")


def _plain(text: str) -> str:
    """Turn a docstring into Markdown: code, code blocks, and the first word of assumptions in bold."""
    text = re.sub(r"\b(Assumptions?|Limitations):", r"**\1:**", text.replace("``", "`"))
    text = re.sub(r" ?::\n\n((?:    .+\n?)+)", lambda block: f":\n\n```text\n{textwrap.dedent(block[1])}```\n", text)
    return re.sub(r"^([-+*]) ", r"\\\1 ", text, flags=re.MULTILINE)


def _filled(text: str) -> str:
    return "\n\n".join(_wrapped(paragraph) for paragraph in text.split("\n\n"))


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(text, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
