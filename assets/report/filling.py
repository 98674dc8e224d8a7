"""The environments that fill templates, with the filters and globals of every template.

These are the functions of `numbers.py` and `wording.py`, which write numbers and set phrases.
In HTML values are escaped; in plain text and Markdown each value stays visible on one line.
"""

from __future__ import annotations

import base64
import gzip
import json
from functools import cache, partial
from pathlib import Path
from types import FunctionType
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from assets.node_lists import exclude_option, safe_names
from assets.report import numbers, tables, wording
from assets.report.actions import lemon_words, saving_of
from assets.report.addresses import anchor_of, of_cause, of_failure, of_node
from assets.report.queries import ANSWERS, summed

TEMPLATES = Path(__file__).parent / "templates"
WORDS: dict[str, Any] = {
    name: function
    for module in (numbers, wording)
    for name, function in vars(module).items()
    if isinstance(function, FunctionType | partial) and not name.startswith("_")
}
"""All functions of `numbers` and `wording`, and a few more."""
WORDS |= {
    function.__name__: function
    for function in (
        anchor_of, of_cause, of_failure, of_node, exclude_option, safe_names, lemon_words, saving_of, summed,
        tables.limits_of, tables.level_of, tables.steps,
    )
} | {"second": tables.second}  # fmt: skip


@cache
def environment() -> Environment:
    """Return the environment of pages, which escapes values and caches compiled templates."""
    made = _environment(autoescape=True)
    made.policies["json.dumps_kwargs"] = {"separators": (",", ":")}
    made.filters["zipped"] = zipped
    return made


@cache
def plain_environment() -> Environment:
    """Return the environment of plain text: every text stays visible and on one line."""
    made = _environment(autoescape=False)
    made.finalize = lambda value: numbers.printable(value, 4000) if isinstance(value, str) else value
    return made


def _environment(*, autoescape: bool) -> Environment:
    made = Environment(
        loader=FileSystemLoader([TEMPLATES, ANSWERS]),
        autoescape=autoescape,  # noqa: S701 - plain text has no markup to escape
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= WORDS
    made.globals |= WORDS | {"populations": wording.POPULATIONS}
    return made


def zipped(data: dict[str, Any]) -> str:
    """Return data as JSON, compressed by gzip, in base64: a fifth of the space, and free of markup."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
