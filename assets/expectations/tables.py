"""All rules of a table: those that follow from its column names, and its own."""

from __future__ import annotations

from assets.expectations import estimates, marts, ops, raw
from assets.expectations.columns import Columns, rules_of_columns
from assets.expectations.rules import Rule

OWN_RULES = {"raw": raw.RULES, "ops": ops.RULES, "marts": marts.RULES, "estimates": estimates.RULES}
"""By schema and table. In raw and ops only these tables are judged, in the other schemas all."""


def rules_of(schema: str, table: str, columns: Columns) -> list[Rule]:
    """Return the rules for a table with these columns."""
    of_columns = [] if schema == "ops" else rules_of_columns(schema, table, columns)
    return [*of_columns, *OWN_RULES[schema].get(table, [])]
