"""Results of Great Expectations and of dbt's tests in one form: a sentence for people and a row of ops.checks.

The tools decide whether a rule holds, and asset_checks.py whether the refresh stops; nothing is decided here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import duckdb

from assets.sources.masking import mask

if TYPE_CHECKING:
    from great_expectations.core.expectation_validation_result import ExpectationValidationResult

_DATABASE_ERROR = re.compile(
    r"(?:Binder|Catalog|Parser|Conversion|Invalid Input|Out of Range|Out of Memory) Error: [^\n]+"
)


@dataclass(frozen=True)
class Verdict:
    """One check on one table; `str()` is the line a person reads. Secrets in the values that it quotes are masked.

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


def verdicts_of(table_name: str, result: ExpectationValidationResult) -> list[Verdict]:
    """Turn a GX result into verdicts: one if the rule holds or could not be computed, else one per cluster at fault."""
    config = result.expectation_config
    if config is None:
        raise TypeError("a result of Great Expectations without its configuration")
    meta: dict[str, Any] = config.meta or {}
    check, holds = meta["check"], meta["holds"]
    is_critical = str(config.severity.value) == "critical"
    rows = (result.result.get("details") or {}).get("unexpected_rows") or []
    if result.success or not rows:
        observed = _holds(result) if result.success else _violations(result)
        return [Verdict(table_name, check, bool(result.success), is_critical, observed, holds)]
    return [
        Verdict(
            table_name,
            check,
            False,
            is_critical and not row["is_tolerated"],
            _findings(row["examples"], row["finding_count"]),
            holds,
            row["cluster_id"],
        )
        for row in rows
    ]


def missing_table(table_name: str) -> Verdict:
    """Make the verdict on a table that does not exist."""
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
    """Read the failed checks of a run, in the order they were made."""
    rows = con.execute(
        """
        select table_name, check_name, passed, is_blocking, coalesce(observed, ''), coalesce(expected, ''),
            cluster_id
        from ops.checks
        where run_id = ? and is_blocking = ? and not passed
        order by checked_at, table_name, check_name <> 'columns', check_name, cluster_id
        """,
        [run_id, is_blocking],
    ).fetchall()
    return [Verdict(*row) for row in rows]


def _holds(result: ExpectationValidationResult) -> str:
    observed = result.result.get("observed_value")
    return f"{observed:,}" if isinstance(observed, int) and observed else "no violation"


def _violations(result: ExpectationValidationResult) -> str:
    """Say which columns are missing, or why the rule could not be computed."""
    details = result.result.get("details") or {}
    if missing := (details.get("mismatched") or {}).get("missing"):
        return f"missing columns: {', '.join(sorted(missing))}"
    return _error(result) or f"observed {result.result.get('observed_value')}"


def _findings(examples: Sequence[str], count: int) -> str:
    """Join the first sentences without repeats, and say how many more findings there are."""
    shown = list(dict.fromkeys(examples))
    more = count - len(examples)
    return "; ".join(shown) + (f"; and {more:,} more" if more > 0 else "")


def _error(result: ExpectationValidationResult) -> str | None:
    """Find DuckDB's own message in the errors of a rule that could not be computed."""
    info: dict[str, Any] = result.exception_info or {}
    found_errors = [info] if "exception_message" in info else info.values()
    raised = [error for error in found_errors if error.get("raised_exception")]
    if not raised:
        return None
    texts = [str(error.get(part) or "") for error in raised for part in ("exception_message", "exception_traceback")]
    found = next((match.group() for text in texts if (match := _DATABASE_ERROR.search(text))), texts[0][:300])
    return f"could not be computed: {found}"
