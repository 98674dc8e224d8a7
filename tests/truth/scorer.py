"""Holds a published file against a known truth: claims in, measures out, and whether each is close enough."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import sqrt
from pathlib import Path

import duckdb

HERE = Path(__file__).parent
TABLES = {
    "attempts": "marts.fct_attempts",
    "attempt_nodes": "marts.fct_attempt_nodes",
    "failures": "marts.fct_failures",
    "preemptions": "marts.fct_preemptions",
    "outages": "marts.fct_node_outages",
    "job_runs": "marts.fct_job_runs",
    "rate_changes": "estimates.est_rate_changes",
    "failure_rates": "estimates.est_failure_rates",
}
"""The published tables of some clusters, as they are called in the schema `found`: nothing can forget to choose it."""


@dataclass(frozen=True)
class Measure:
    """How many were planted and published, and how many of the published are the planted ones.

    A part of a whole has nothing published: `recovered` of `planted` is the part.
    """

    item: str
    recovered: float
    planted: float
    published: float | None = None

    @property
    def precision(self) -> float | None:
        """Share of the published that is right; None when nothing was published."""
        return self.recovered / self.published if self.published else None

    @property
    def recall(self) -> float | None:
        """Share of the planted that was found, or the part of the whole; None when nothing was planted."""
        return self.recovered / self.planted if self.planted else None


@dataclass(frozen=True)
class Claim:
    """What was planted, what answers for it, and how close is enough.

    Attributes
    ----------
    relation
        The table of the schema `judged` that has the rows to count.
    planted, published, recovered
        Conditions on its rows in SQL. By default a row is recovered if it is planted and published.
    by
        A column: one measure for each of its values, instead of one.
    weight
        What a row counts.
    precision, recall, at_most
        Least precision, least recall, and the largest recall; None asks for nothing.
    least
        So many must be planted: a demand on less is not met, or with `by` not made.
    is_rare
        A cluster may have nothing planted, but then nothing may be published there if `precision` is asked for.
    spare
        So many may be wrong, whatever share of all they are.
    errors
        So many standard errors of the share are allowed on top.
    """

    item: str
    relation: str
    planted: str = "is_planted"
    published: str | None = "is_published"
    recovered: str | None = None
    by: str | None = None
    weight: str = "1"
    precision: float | None = None
    recall: float | None = None
    at_most: float | None = None
    least: int = 1
    is_rare: bool = False
    spare: int = 0
    errors: float = 0.0

    @property
    def demand(self) -> str:
        """Say what is asked of the recall."""
        limits = (("at least", self.recall), ("at most", self.at_most))
        return ", ".join(f"{word} {100 * limit:g}%" for word, limit in limits if limit is not None) or "-"

    @property
    def is_asked(self) -> bool:
        """Whether it asks for anything, or is only counted."""
        return any(limit is not None for limit in (self.precision, self.recall, self.at_most))

    def holds(self, measure: Measure) -> bool:
        """Whether a measure is as asked."""
        if self.is_rare and not measure.planted:
            return self.precision is None or not measure.published
        if measure.planted < self.least and not self.is_rare:
            return self.by is not None or not self.is_asked
        return self._is_close(measure.recovered, measure.planted, self.recall, self.at_most) and self._is_close(
            measure.recovered, measure.published or 0, self.precision
        )

    def _is_close(self, part: float, whole: float, at_least: float | None, at_most: float | None = None) -> bool:
        if not whole:
            return at_least is None
        share = (part + 1) / (whole + 2)
        error = self.errors * sqrt(max(0, share * (1 - share)) / whole)
        rounding = 1e-9 * whole
        is_enough = at_least is None or whole - part <= max(self.spare, (1 - at_least + error) * whole) + rounding
        return is_enough and (at_most is None or part <= (at_most + error) * whole + rounding)


def share(item: str, relation: str, part: str, of: str = "true", **limits: float) -> Claim:
    """Give the claim that a part of the rows of a relation is as large as asked: `recall` at least, or `at_most`."""
    return Claim(item, relation, of, None, f"({of}) and ({part})", **limits)  # type: ignore[arg-type]


@contextmanager
def opened(published: Path, *cluster_ids: str) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection with the published tables of clusters as `found`, and empty schemas `truth` and `judged`."""
    with duckdb.connect() as con:
        con.execute("set timezone = 'UTC'; create schema found; create schema truth; create schema judged")
        con.execute(f"attach '{str(published).replace(chr(39), chr(39) * 2)}' as published (read_only)")
        con.execute("set variable cluster_ids = ?::varchar[]", [list(cluster_ids)])
        for name, table in TABLES.items():
            con.execute(
                f"create view found.{name} as "
                f"from published.{table} where list_contains(getvariable('cluster_ids'), cluster_id)"
            )
        yield con


def run(con: duckdb.DuckDBPyConnection, script: Path) -> None:
    """Run a script of SQL."""
    con.execute(script.read_text(encoding="utf-8"))


def measured(con: duckdb.DuckDBPyConnection, claim: Claim) -> tuple[Measure, ...]:
    """Count what a claim is about; with `by` the most frequent first."""
    recovered = claim.recovered or f"({claim.planted}) and ({claim.published})"
    counts = ", ".join(
        f"coalesce(sum({claim.weight}) filter ({condition}), 0)"
        for condition in (recovered, claim.planted, claim.published or "false")
    )
    rows = con.execute(f"select {claim.by or 'null'}, {counts} from judged.{claim.relation} group by 1").fetchall()
    rows = [row for row in rows if not claim.by or row[2] or row[3]] or [(None, 0, 0, 0)]
    return tuple(
        Measure(key if claim.by else claim.item, found, planted, None if claim.published is None else published)
        for key, found, planted, published in sorted(rows, key=lambda row: (-row[2], row[0]))
    )


def judged(con: duckdb.DuckDBPyConnection, claims: Iterable[Claim]) -> dict[str, tuple[Measure, ...]]:
    """Count what all claims are about, by their items."""
    return {claim.item: measured(con, claim) for claim in claims}


def missed(claims: Iterable[Claim], measures: dict[str, tuple[Measure, ...]]) -> list[Measure]:
    """Give the measures that are not as a claim asks."""
    return [measure for claim in claims for measure in measures[claim.item] if not claim.holds(measure)]
