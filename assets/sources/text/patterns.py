"""Regular expressions in a site's `cluster.toml`: which are accepted.

DuckDB matches the patterns with RE2, which takes time linear in the length of a text, whatever the pattern. Python's
engine can take exponential time. Therefore RE2 has no back references and no lookaround.
"""

from __future__ import annotations

from collections.abc import Collection

import duckdb

MAX_PATTERNS = 100
"""Patterns of a site."""
_ALLOWED = "allowed is the syntax of RE2, without references back to groups (\\1) and without lookaround ((?=...))"


def require_patterns(patterns: Collection[str]) -> None:
    """Refuse patterns that RE2 does not accept.

    Raises
    ------
    ValueError
        A pattern is not allowed; the error names it and says what is.
    """
    if len(patterns) > MAX_PATTERNS:
        raise ValueError(f"at most {MAX_PATTERNS} patterns are allowed, not {len(patterns)}")
    with duckdb.connect() as con:
        # A large pattern takes a third of a second to compile; RE2 bounds the size of all patterns as one.
        together = _error(con, "|".join(f"(?:{pattern})" for pattern in patterns))
        if together and "too large" in together:
            raise ValueError("the patterns are too large together; allowed are fewer or smaller repetitions ({n})")
        for pattern in patterns:
            error = "it holds a zero byte" if "\0" in pattern else _error(con, pattern)
            if error:
                shown = pattern if len(pattern) <= 100 else f"{pattern[:100]}..."
                raise ValueError(f"{shown!r} is not a regular expression ({error}); {_ALLOWED}")


def require_group(pattern: str) -> str:
    """Return a pattern if RE2 accepts it and it has a group; refuse any other."""
    require_patterns([pattern])
    with duckdb.connect() as con:
        has_group = not _error(con, pattern, "select regexp_extract('', ?, ['place'])")
    if not has_group:
        raise ValueError(f"{pattern!r} has no group: put the part that is meant into parentheses, as in '^(r[0-9]+)-'")
    return pattern


def _error(con: duckdb.DuckDBPyConnection, pattern: str, query: str = "select regexp_matches('', ?, 'i')") -> str:
    """Return what is wrong with a pattern; empty if nothing is."""
    try:
        con.execute(query, [pattern])
    except duckdb.Error as error:
        return str(error).removeprefix("Invalid Input Error: ")[:100]
    return ""
