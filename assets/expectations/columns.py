"""Rules that follow from the names of columns, for all tables of a schema, and the columns that are exceptions.

A new column with one of the usual endings is judged without further code. One rule on one table is one check, whatever
its columns; the finding names the wrong column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

from assets.expectations.rules import Rule, no_finding, shown
from assets.sql import identifier

Columns = Mapping[str, str]
"""DuckDB's types of a table's columns by name, in their order."""

EARLIEST, EARLIEST_RECORD = "2000-01-01", "1980-01-01"
"""The earliest believed times of logs, and of failure records, which are kept for decades."""

MAX_UNKNOWN_NODE_SHARE = 0.5
MAX_KEY_COLUMNS = 6

KEYS = frozenset(
    (
        *("account", "attempt_id", "boundary_date", "cause", "change_kind", "check_name", "checkpoint_minutes"),
        *("cluster_id", "comparison", "component", "counted_as", "day_date", "event_id", "failure_category"),
        *("failure_id", "gpu_count", "gpu_size_bin", "incident_id", "job_id", "kind", "line_number", "loss"),
        *("month_date", "node_id", "node_name", "other_category", "other_cluster_id", "outage_id", "path"),
        *("period", "place", "place_kind", "population", "qos", "repair_action", "run_id", "scenario", "signal"),
        *("source", "state", "ticket_id", "user_name", "window_end_date"),
    )
)
"""Columns that name a row in a finding, in the order in which its table has them."""

AMOUNTS = frozenset(
    (
        *("cnt", "cost", "count", "days", "dispersion", "exposure", "failures", "fails", "hours", "interruptions"),
        *("lift", "mib", "minutes", "per", "rate", "ratio", "seconds", "shape", "tickets", "variance"),
    )
)
"""Words in the name of a number that is never negative."""
SIGNED = frozenset(
    (
        "clock_ahead_seconds",
        "clock_offset_seconds",
        "lag_seconds",
        "lead_seconds",
        "lead_seconds_p10",
        "lead_seconds_p90",
    )
)
"""Numbers that may be negative though they have such a word."""
JUDGED_AS_RECORDED = frozenset(("elapsed_seconds", "suspended_seconds", "time_limit_seconds"))
"""Columns that a mart copies from accounting records; raw.sacct may have a few odd values."""

SHARE = re.compile(
    r"(^|_)(ettr|p_value|q_value|precision|probability|reach|recall)(_|$)"
    r"|_(distance|fdr|ratio|share)(_|$)|^(availability|objective|single_node_node_failure_rate)$"
)
NO_SHARES = frozenset(("odds_ratio", "unchanged_ratio"))
"""Ratios of rates or odds, which may exceed 1. So may a column named `ratio` alone."""

BOUNDED = {"ettr_bound": "ettr_measured", "progress_ratio_bound": "progress_ratio"}
"""Limits with a name of their own, and their value: the range that unknown checkpoints leave open."""

IN_ORDER = (
    *(("first_at", "last_at"), ("first_seen_at", "last_seen_at"), ("first_reported_at", "last_reported_at")),
    *(("first_reported_at", "first_failed_at"), ("changed_at", "last_changed_at"), ("started_at", "ended_at")),
    *(("started_at", "observed_at"), ("last_ok_at", "observed_at"), ("observed_at", "cleared_at")),
    *(("opened_at", "closed_at"), ("from_at", "to_at")),
    *(
        ("study_from_at", "study_to_at"),
        ("window_start_date", "window_end_date"),
        ("window_end_date", "judged_end_date"),
    ),
)
"""Pairs of moments: the first is not later than the second."""
IN_ORDER_ONCE_TYPED = (("submitted_at", "started_at"), ("requested_at", "started_at"))
"""As above, but not in raw: there, the earlier records of a requeued job have its new submit time."""

PLANNED = frozenset(("closed_at", "dated_by_file_at", "eligible_at", "reason_at"))
"""Times that no computation uses, or that may be planned for any day."""
PLANNED_TABLES = frozenset(("dim_units_in_service",))
"""Tables of a site's own statements, which may begin or end in the future."""

TIMED_BY_OTHERS = frozenset(("fct_attempt_exposures", "fct_job_runs"))
"""Views with the times of fct_attempts, which are judged there: each rule would compute them again."""

WITHOUT_EXPOSURE = frozenset(("est_lost_gpu_hours",))
"""Estimates that are no rates: a loss needs no exposure."""

NUMBERS = "numbers are finite, and counts, times, rates and costs are not negative"
EVIDENCE = "the confidence level lies between 0 and 1, and events were seen over some exposure, or the method says not"

Violation = tuple[str, str]
"""In SQL: the condition of a row that breaks a rule, and the words that show it."""


def rules_of_columns(schema: str, table: str, columns: Columns) -> list[Rule]:
    """Return the rules that apply to the columns of a table.

    Rules of raw tables tolerate a cluster's share of odd rows, and so do rules for times: all come from logs.
    """
    is_raw = schema == "raw"
    earliest = EARLIEST if is_raw and table != "unit_failures" else EARLIEST_RECORD
    times = f"times lie between {earliest} and the day after now, or after the newest file"
    key = [name for name in columns if name in KEYS][:MAX_KEY_COLUMNS]
    is_timed = table not in TIMED_BY_OTHERS
    violations = (
        ("numbers_possible", NUMBERS, _impossible(columns, is_raw)),
        ("shares_in_0_1", "shares and probabilities lie between 0 and 1", _no_shares(columns)),
        ("values_inside_limits", "low <= value <= high", _outside_limits(columns)),
        (
            "times_believable",
            times,
            _unbelievable(columns, earliest) if is_timed and table not in PLANNED_TABLES else [],
        ),
        ("times_in_order", "no time comes before what it follows", _out_of_order(columns, is_raw) if is_timed else []),
        ("evidence_stated", EVIDENCE, [] if table in WITHOUT_EXPOSURE else _unstated(columns)),
    )
    return [
        _rule(check, holds, found, key, is_raw or check.startswith("times"))
        for check, holds, found in violations
        if found
    ]


def _rule(check: str, holds: str, violations: Sequence[Violation], key: Sequence[str], tolerates_share: bool) -> Rule:
    """Combine the violations of a table's columns into one rule."""
    wrong = [f"case when {condition} then {words} end" for condition, words in violations]
    return Rule(
        check,
        holds,
        condition=" or ".join(f"({condition})" for condition, _ in violations),
        finding=f"concat_ws(', ', {', '.join([shown([name]) for name in key] + wrong)})",
        tolerates_share=tolerates_share,
    )


def _impossible(columns: Columns, is_raw: bool) -> list[Violation]:
    """Find numbers that are infinite, NaN, or negative without being signed; shares have a rule of their own."""
    found: list[Violation] = []
    for name, kind in columns.items():
        value = _value_of(name, columns) or name
        is_amount = AMOUNTS & set(value.split("_")) and value not in SIGNED
        if _is_share(value):
            continue
        wrong = [f"not isfinite({identifier(name)})"] if kind == "DOUBLE" else []
        if _is_number(kind) and is_amount and (is_raw or name not in JUDGED_AS_RECORDED):
            wrong.append(f"{identifier(name)} < 0")
        if wrong:
            found.append((" or ".join(wrong), shown([name])))
    return found


def _no_shares(columns: Columns) -> list[Violation]:
    """Find shares outside 0 to 1, with a tolerance for floating point. NaN is one: DuckDB orders it above all."""
    return [
        (f"{identifier(name)} not between -1e-9 and 1 + 1e-9", shown([name]))
        for name, kind in columns.items()
        if kind == "DOUBLE" and _is_share(_value_of(name, columns) or name)
    ]


def _is_share(name: str) -> bool:
    return bool(SHARE.search(name)) and name not in NO_SHARES


def _outside_limits(columns: Columns) -> list[Violation]:
    """Find values outside their own limits; a side that is open is NULL."""
    found: list[Violation] = []
    for name in columns:
        base, _, side = name.rpartition("_")
        if side not in ("low", "high") or (side == "high" and f"{name[:-4]}low" in columns):
            continue
        low, high = (f"{name.removesuffix(side)}{limit}" for limit in ("low", "high"))
        value = BOUNDED.get(base) or _value_of(name, columns)
        present = [column for column in (low, value, high) if column is not None and column in columns]
        # Compare the limits with each other too: an unknown value may have both.
        pairs = combinations([identifier(column) for column in present], 2)
        if columns[name] == "DOUBLE":
            wrong = [f"{first} > {second} + 1e-9 * (1 + abs({second}))" for first, second in pairs]
        else:
            wrong = [f"{first} > {second}" for first, second in pairs]
        if wrong:
            found.append((" or ".join(wrong), shown(present)))
    return found


def _value_of(name: str, columns: Columns) -> str | None:
    """Return the value that a column limits; a bare `low` or `high` belongs to the column before `low`."""
    base, _, side = name.rpartition("_")
    if side not in ("low", "high"):
        return None
    if base:
        return base
    names = list(columns)
    return names[names.index("low") - 1]


def _unbelievable(columns: Columns, earliest: str) -> list[Violation]:
    """Find times outside the range that readers accept: a clock or a format was misread."""
    latest = "greatest(timezone('UTC', now()), (select max(modified_at) from ops.files)) + interval 1 day"
    return [
        (
            f"{identifier(name)} not between timestamp '{earliest}' and {latest}",
            shown([name]),
        )
        for name, kind in columns.items()
        if name.endswith("_at") and name not in PLANNED and kind.startswith("TIMESTAMP")
    ]


def _out_of_order(columns: Columns, is_raw: bool) -> list[Violation]:
    pairs = IN_ORDER if is_raw else IN_ORDER + IN_ORDER_ONCE_TYPED
    return [
        (f"{first} > {second}", shown([first, second])) for first, second in pairs if {first, second} <= columns.keys()
    ]


def _unstated(columns: Columns) -> list[Violation]:
    """Find estimates without a confidence level, or with events but no exposure."""
    if not {"cluster_id", "confidence_level", "event_count", "exposure"} <= columns.keys():
        return []
    return [
        (
            "confidence_level is null or not (confidence_level > 0 and confidence_level < 1)",
            shown(["confidence_level"]),
        ),
        (
            "event_count > 0 and coalesce(exposure, 0) = 0 and method is distinct from 'no_exposure'",
            shown(["event_count", "exposure"]),
        ),
    ]


def _is_number(kind: str) -> bool:
    return kind == "DOUBLE" or kind.startswith("DECIMAL") or kind.endswith(("INT", "INTEGER"))


def nodes_known() -> Rule:
    """Warn if most rows of a cluster name unknown hosts: then names need an alias or a suffix rule."""
    query = f"""
        select cluster_id, concat(
            cluster_id, ': ', count(*) filter (disposition = 'unknown_node'), ' of ', count(*),
            ' rows name unknown nodes, such as ', min(node_name) filter (disposition = 'unknown_node'),
            '; see [nodes] in cluster.toml'
        ) as finding
        from {{batch}}
        where node_name is not null
        group by cluster_id
        having count(*) filter (disposition = 'unknown_node') > {MAX_UNKNOWN_NODE_SHARE} * count(*)
    """
    return no_finding("nodes_known", query, "most rows name nodes of the cluster", warns=True)
