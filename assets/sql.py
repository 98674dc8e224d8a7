"""The one place where a name or a text becomes part of an SQL statement.

Values are bound as parameters wherever DuckDB takes them. Where it takes none (names, COPY, ATTACH, SET, options of
readers), this module quotes them. A test proves that all other parts of every statement come from the code.

A statement of more than a few lines is a Jinja template in a file next to the module that runs it. Each folder with
templates has a `.sqlfluff` with sample values, with which a test parses the templates.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable

    from jinja2 import Environment


def identifier(*parts: str) -> str:
    """Quote a name, or the parts of a qualified one.

    >>> print(identifier("marts", 'an "odd" name'))
    "marts"."an ""odd"" name"
    """
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def literal(text: str) -> str:
    """Quote a text.

    >>> print(literal("it's"))
    'it''s'
    """
    return "'" + text.replace("'", "''") + "'"


@cache
def fill(template: str, **values: Hashable) -> str:
    """Return the statement that a template renders; each combination of values is rendered once.

    Parameters
    ----------
    template
        Path below `assets/`, such as `sources/sacct/typed_records.sql`.
    values
        What the template needs. It filters names and texts that come from data: `{{ name | identifier }}`,
        `{{ text | literal }}`. What a statement can take as a parameter is not a value of a template.

    Raises
    ------
    jinja2.UndefinedError
        If a value is missing.
    """
    return _templates().get_template(template).render(values)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(  # noqa: S701 - it renders SQL, and its filters quote
        loader=FileSystemLoader(Path(__file__).parent), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {"identifier": identifier, "literal": literal}
    return environment
