"""Results of Great Expectations and of dbt's tests in one form: a sentence for people and a row of ops.checks.

The tools decide whether a rule holds, and asset_checks.py whether the refresh stops; nothing is decided here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import duckdb

from assets.expectations.rules import Rule
from assets.sources.text.masking import mask

if TYPE_CHECKING:
    from great_expectations.core.expectation_validation_result import ExpectationValidationResult

_DATABASE_ERROR = re.compile(
    r"(?:Binder|Catalog|Parser|Conversion|Invalid Input|Out of Range|Out of Memory) Error: [^\n]+"
)


@dataclass(frozen=True)
class Verdict:
    """One check on one table; `str()` is the line for people. Secrets in quoted values are masked.

    A blocking failure with a cluster keeps the new numbers of that cluster from being published. A blocking failure
    without one concerns all clusters.
    """

    table_name: str
    check_name: str
    passed: bool
    is_blocking: bool
    observed: str
    expected: str
    cluster_id: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "observed", mask(self.observed))

    @property
    def stage(self) -> str:
        """Stage that ran the check; ops.files is judged with the raw tables it accounts for."""
        schema = self.table_name.split(".")[0]
        return "raw" if schema == "ops" else schema

    def __str__(self) -> str:
        table = self.table_name.removeprefix(f"{self.stage}.")
        return f"{self.stage}: {table} {self.check_name}: {self.observed} (must hold: {self.expected})"


def verdicts_of(
    table_name: str, rules: Sequence[Rule], results: Sequence[ExpectationValidationResult]
) -> list[Verdict]:
    """Turn GX results into verdicts: one if a rule holds or could not be computed, else one per violating cluster."""
    not_computed: dict[str, str] = {}
    violated: dict[str, list[dict[str, Any]]] = {}
    for result in results:
        config = result.expectation_config
        if config is None or not config.meta:
            raise TypeError("a result of Great Expectations that names no rule")
        if not result.success:
            details = result.result.get("details") or {}
            rows = details.get("unexpected_rows") or []
            violated |= {row["check_name"]: row["clusters"] for row in rows}
            if not rows:
                reason = _error(result) or f"observed {result.result}"
                not_computed |= dict.fromkeys(config.meta["checks"], reason)
    return [
        verdict
        for rule in rules
        for verdict in _verdicts(table_name, rule, not_computed.get(rule.check), violated.get(rule.check, []))
    ]


def _verdicts(
    table_name: str, rule: Rule, why_not: str | None, clusters: Sequence[Mapping[str, Any]]
) -> Iterator[Verdict]:
    for_rule = partial(Verdict, table_name, rule.check)
    if why_not is not None:
        yield for_rule(False, not rule.warns, why_not, rule.holds)
    elif not clusters:
        yield for_rule(True, not rule.warns, "no violation", rule.holds)
    for row in clusters:
        is_blocking = not rule.warns and not row["is_tolerated"]
        observed = _findings(row["examples"], row["finding_count"])
        yield for_rule(False, is_blocking, observed, rule.holds, row["cluster_id"])


def missing_table(table_name: str) -> Verdict:
    """Return the verdict on a table that does not exist."""
    return Verdict(table_name, "exists", False, True, "the table does not exist", f"{table_name} exists")


def record(con: duckdb.DuckDBPyConnection, run_id: str, verdicts: Sequence[Verdict]) -> None:
    """Write verdicts to ops.checks; they replace those of an earlier attempt of the same run."""
    if not verdicts:
        return
    checked_at = datetime.now(UTC).replace(tzinfo=None)
    columns = [list(column) for column in zip(*map(astuple, verdicts), strict=True)]
    con.begin()
    con.execute(
        "delete from ops.checks"
        " where run_id = ? and (table_name, check_name) in (select unnest(?::varchar[]), unnest(?::varchar[]))",
        [run_id, *columns[:2]],
    )
    con.execute(
        """
        insert into ops.checks (
            run_id, table_name, check_name, passed, is_blocking, observed, expected, cluster_id, checked_at
        )
        select
            ?, unnest(?::varchar[]), unnest(?::varchar[]), unnest(?::boolean[]), unnest(?::boolean[]),
            unnest(?::varchar[]), unnest(?::varchar[]), unnest(?::varchar[]), ?
        """,
        [run_id, *columns, checked_at],
    )
    con.commit()


def read_failed(con: duckdb.DuckDBPyConnection, run_id: str, is_blocking: bool) -> list[Verdict]:
    """Return the failed checks of a run, in the order in which they were made."""
    rows = con.execute(
        """
        select table_name, check_name, passed, is_blocking, coalesce(observed, ''), coalesce(expected, ''),
            cluster_id
        from ops.checks
        where run_id = ? and is_blocking = ? and not passed
        order by checked_at, table_name, check_name, cluster_id
        """,
        [run_id, is_blocking],
    ).fetchall()
    return [Verdict(*row) for row in rows]


def _findings(examples: Sequence[str], count: int) -> str:
    """Join the examples without repeats, and say how many more findings there are."""
    shown = list(dict.fromkeys(examples))
    more = count - len(examples)
    return "; ".join(shown) + (f"; and {more:,} more" if more > 0 else "")


def raised(result: ExpectationValidationResult) -> list[dict[str, Any]]:
    """Return the errors that kept a result from being computed."""
    info: dict[str, Any] = result.exception_info or {}
    errors = [info] if "exception_message" in info else info.values()
    return [error for error in errors if error.get("raised_exception")]


def _error(result: ExpectationValidationResult) -> str | None:
    """Return DuckDB's own message from the errors of a result that could not be computed."""
    errors = raised(result)
    if not errors:
        return None
    texts = [str(error.get(part) or "") for error in errors for part in ("exception_message", "exception_traceback")]
    found = next((match.group() for text in texts if (match := _DATABASE_ERROR.search(text))), texts[0][:300])
    return f"could not be computed: {found}"
