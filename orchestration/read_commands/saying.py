"""Answers on the terminal: the templates of `assets/answers`, rendered and printed line by line."""

from __future__ import annotations

import shlex
import textwrap
from functools import cache
from typing import Any

from jinja2 import Environment

from assets.not_computed import failed_in_words
from assets.report.filling import plain_environment
from assets.seen_days import part_of_month
from assets.site_rules import counted_by_kind
from orchestration.pull.outcomes import in_words
from orchestration.read_commands.age import ago, as_of
from orchestration.terminal.output import say_lines


def say_answer(name: str, **rows: Any) -> None:
    """Print an answer for people."""
    say_lines(lines_of(name, **rows))


def lines_of(name: str, **rows: Any) -> list[str]:
    """Render `<name>/terminal.txt.j2` with rows, and return its lines."""
    return _environment().get_template(f"{name}/terminal.txt.j2").render(rows).splitlines()


@cache
def _environment() -> Environment:
    environment = plain_environment().overlay()
    words = (ago, as_of, counted_by_kind, failed_in_words, in_words, part_of_month, utc, wrapped)
    environment.filters = environment.filters | {word.__name__: word for word in words}
    environment.filters |= {"quoted": shlex.quote}
    return environment


def utc(text: str) -> str:
    """Shorten ISO 8601 to the minute.

    >>> utc("2026-04-05T08:00:12Z")
    '2026-04-05 08:00 UTC'
    """
    return f"{text[:16].replace('T', ' ')} UTC"


def wrapped(text: str) -> list[str]:
    """Wrap a text of several paragraphs into lines of at most 100 characters."""
    wrap = textwrap.TextWrapper(100, break_long_words=False, break_on_hyphens=False)
    return [line for paragraph in text.split("\n") for line in wrap.wrap(paragraph)]
