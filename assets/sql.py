"""The one place where a name or a text becomes part of an SQL statement.

Values are bound as parameters wherever DuckDB takes them. Where it takes none (names, COPY, ATTACH, SET, options of
readers), they pass through here. A test proves that all other parts of every statement come from the code.
"""

from __future__ import annotations


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
