"""The summary of a refresh and its publication, as text and as JSON."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import duckdb
from rich.console import Console

from assets.bad_clusters.cluster_outcomes import CLUSTER_OUTCOMES
from assets.not_computed import NOT_COMPUTED, failed_in_words
from assets.report.wording import plural
from assets.rounding import rounded
from assets.rows import rows_of
from assets.sources.intake.account.doubtful_files import cut_files
from assets.sources.intake.account.file_warnings import OVERLAPS_NO_ACCOUNTING
from assets.sources.intake.account.superseding import shortened_files
from assets.warehouse import one_value
from orchestration.publication.folders import pinned_publication
from orchestration.pull.outcomes import FAILED
from orchestration.settings.home import Home

SHOWN_FILES = 10

CLUSTERS = """
    select
        cluster.cluster_id,
        cluster.is_simulated,
        cluster.is_stale,
        cluster.has_accounting,
        cluster.node_count,
        (select count(*) from marts.fct_unit_failures f where f.cluster_id = cluster.cluster_id) as recorded_failures,
        (select count(*) from marts.fct_attempts a where a.cluster_id = cluster.cluster_id) as attempts,
        losses.failure_count as failures,
        losses.expected_failure_count as expected_failures,
        losses.expected_lost_gpu_hours,
        losses.expected_lost_gpu_hours_low,
        losses.expected_lost_gpu_hours_high,
        if(rate.has_enough_data, rate.failures_per_1000_node_days, null) as rate,
        if(rate.has_enough_data, rate.failures_per_1000_node_days_low, null) as rate_low,
        if(rate.has_enough_data, rate.failures_per_1000_node_days_high, null) as rate_high,
        rate.failure_count as rate_failures,
        rate.node_days,
        rate.has_enough_data,
        rate.note as rate_note,
        rate.population
    from marts.dim_clusters cluster
    left join estimates.est_failure_rates rate
        on rate.cluster_id = cluster.cluster_id and rate.is_reference
    left join estimates.est_lost_gpu_hours losses
        on losses.cluster_id = cluster.cluster_id and losses.period = 'study' and losses.loss = 'all'
    order by cluster.cluster_id
"""
LINES = """
    select
        coalesce(sum(lines_in), 0)::bigint as lines_in,
        coalesce(sum(loaded), 0)::bigint as loaded,
        coalesce(sum(skipped), 0)::bigint as skipped,
        coalesce(sum(quarantined), 0)::bigint as quarantined
    from ops.files
"""
FAILING = (
    f"select cluster_id, is_stale, reasons from ({CLUSTER_OUTCOMES}) where cluster_end <> 'built' order by cluster_id"
)
WITHOUT_ACCOUNTING = f"""
    select path, split_part(warning, ': ', 2) as days
    from (select path, unnest(warnings) as warning from ops.files)
    where starts_with(warning, '{OVERLAPS_NO_ACCOUNTING}:')
    order by path
"""
REFUSED = "select path, reason, next_step from ops.files where status in ('refused', 'blind') order by path"
NOT_PULLED = """
    select cluster_id, status, reason, next_step, pulled_to from ops.pulls where status <> 'pulled' order by cluster_id
"""
AFTER_NOW = """
    select cluster_id, observed from ops.checks
    where check_name = 'after_now' and not passed
        and run_id = (select run_id from ops.published order by rowid desc limit 1)
    order by cluster_id, observed
"""
CHECKS = """
    select
        count(*) filter (passed) as passed,
        count(*) filter (not passed and is_blocking) as failed,
        count(*) filter (not passed and not is_blocking) as warned
    from ops.checks
    where run_id = (select run_id from ops.published order by rowid desc limit 1)
"""


@dataclass(frozen=True)
class Outcome:
    """The result of a refresh, for people and for programs."""

    status: str
    seconds: float
    report: str
    warehouse: str
    clusters: list[dict[str, Any]] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    checks: dict[str, int] = field(default_factory=dict)
    pinned: int | None = None
    """Number of the publication that a rollback has pinned."""
    failing: list[dict[str, Any]] = field(default_factory=list)
    """Clusters that could not be built, and why."""
    refused: list[dict[str, Any]] = field(default_factory=list)
    """Files that were not read, and why."""
    without_accounting: list[dict[str, Any]] = field(default_factory=list)
    """Logs that can explain no failure, because accounting has no job of their time, and their days."""
    not_pulled: list[dict[str, Any]] = field(default_factory=list)
    """Clusters whose newest accounting could not be fetched from Slurm, and why."""
    pulled_in_part: list[dict[str, Any]] = field(default_factory=list)
    """Clusters whose other logs could not all be fetched, and why."""

    versions: list[str] = field(default_factory=list)
    """Files that this refresh found shorter than before, or cut off, and which of their rows stay."""
    not_computed: list[dict[str, Any]] = field(default_factory=list)
    """Estimates that are published without rows, and why."""
    after_now: list[dict[str, Any]] = field(default_factory=list)
    """Clusters with records later than this machine's clock, in words."""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form; it has a `message` if the exit status is 1 for estimates that failed."""
        return self.__dict__ | ({"message": "\n".join(self._not_computed_lines())} if self.not_computed else {})

    def print(self, console: Console) -> None:
        """Print the summary, with the report's path last."""
        for line in self._lines():
            console.print(line)

    def _lines(self) -> Iterator[str]:
        """Yield the lines one by one, so that a name with a line break cannot begin a line."""
        for row in self.clusters:
            marks = [mark for mark in ("simulated", "stale") if row[f"is_{mark}"]]
            name = f"{row['cluster_id']} ({', '.join(marks)})" if marks else row["cluster_id"]
            yield ""
            if not row["has_accounting"]:
                yield f"{name}: no accounting, {plural(row['recorded_failures'], 'recorded failure')}"
                continue
            yield (
                f"{name}: {plural(row['attempts'], 'attempt')} on {plural(row['node_count'], 'node')}, "
                f"{_failures_in_words(row)}"
            )
            yield f"  failure rate {_rate_in_words(row)}"
        yield from self.problem_lines()
        if self.refused or self.without_accounting or self.versions:
            yield ""
        yield from _listed("not read ", [f"{row['path']}: {row['reason']}. {row['next_step']}" for row in self.refused])
        yield from _listed("cut off  ", self.versions)
        yield from _listed(
            "no jobs  ",
            [f"{row['path']}: accounting has none of its time, {row['days']}" for row in self.without_accounting],
        )
        counts = self.lines
        yield ""
        yield (
            f"lines     {counts['lines_in']:,} = {counts['loaded']:,} loaded + {counts['skipped']:,} skipped"
            f" + {counts['quarantined']:,} quarantined"
        )
        yield (
            f"checks    {self.checks['passed']:,} passed, {self.checks['failed']:,} failed,"
            f" {self.checks['warned']:,} warnings"
        )
        if self.status != "unchanged":
            yield f"published in {self.seconds:.0f} s"
        elif self.pinned is None:
            yield "nothing new since the last publication"
        else:
            yield (
                f"nothing new; publication {self.pinned} stays, which `faultline rollback` has pinned, until new logs"
                " come or `faultline refresh --full` is run"
            )
        yield f"warehouse {self.warehouse}"
        yield f"report    {self.report}"

    def problem_lines(self) -> Iterator[str]:
        """Yield the lines on failed estimates, and on clusters that could not be built or fetched completely."""
        if self.not_computed or self.after_now:
            yield ""
        yield from self._not_computed_lines()
        yield from (f"{row['cluster_id']}: {row['observed']}" for row in self.after_now)
        for cluster in self.failing:
            kept = "keeps its last good numbers" if cluster["is_stale"] else "is published without numbers"
            yield ""
            yield f"{cluster['cluster_id']} could not be built and {kept}:"
            yield from (f"  {reason}" for reason in cluster["reasons"])
        for cluster in (*self.not_pulled, *self.pulled_in_part):
            yield ""
            yield _not_pulled_in_words(cluster)
            for line in (*cluster["reason"].splitlines(), *cluster["next_step"].splitlines()):
                yield f"  {line}"

    def _not_computed_lines(self) -> Iterator[str]:
        yield from (failed_in_words(row) for row in self.not_computed)


def read_outcome(home: Home, status: str, started: float) -> Outcome:
    """Return the outcome of a refresh that began at `started` (monotonic clock, seconds) from the published file."""
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        clusters = rows_of(con, CLUSTERS)
        lines = rows_of(con, LINES)[0]
        checks = rows_of(con, CHECKS)[0]
        failing, refused = rows_of(con, FAILING), rows_of(con, REFUSED)
        without_accounting = rows_of(con, WITHOUT_ACCOUNTING)
        run_id = None if status == "unchanged" else _last_run(con)
        versions = [*shortened_files(con, run_id), *cut_files(con, run_id)] if run_id else []
        unpulled, not_computed = rows_of(con, NOT_PULLED), rows_of(con, NOT_COMPUTED)
        after_now = rows_of(con, AFTER_NOW)
    pinned = pinned_publication(home)
    return Outcome(
        status,
        time.monotonic() - started,
        str(home.report),
        str(home.published_file),
        clusters,
        lines,
        checks,
        pinned.number if pinned else None,
        failing,
        refused,
        without_accounting,
        [row for row in unpulled if row["status"] == FAILED],
        [row for row in unpulled if row["status"] != FAILED],
        versions,
        not_computed,
        after_now,
    )


def _last_run(con: duckdb.DuckDBPyConnection) -> str:
    return str(one_value(con, "select run_id from ops.published order by rowid desc limit 1"))


def _listed(label: str, files: list[str]) -> Iterator[str]:
    yield from (f"{label} {file}" for file in files[:SHOWN_FILES])
    if len(files) > SHOWN_FILES:
        yield f"{label} {len(files) - SHOWN_FILES:,} more files; `faultline doctor` lists them"


def _not_pulled_in_words(row: dict[str, Any]) -> str:
    if row["status"] != FAILED:
        return f"{row['cluster_id']}: not all of its logs could be fetched:"
    known = f"ends {row['pulled_to']:%Y-%m-%d %H:%M} UTC" if row["pulled_to"] else "is only what was copied by hand"
    return f"{row['cluster_id']} is stale: its logs could not be fetched, and its accounting {known}:"


def _failures_in_words(row: dict[str, Any]) -> str:
    if row["expected_failures"] is None:
        return "failures unknown"
    found = f"{rounded(row['expected_failures'])} infrastructure failures expected"
    if not row["expected_lost_gpu_hours"]:
        return found
    low, high = (rounded(row[f"expected_lost_gpu_hours_{end}"]) for end in ("low", "high"))
    limits = f" [{low}, {high}]" if row["has_enough_data"] else ""
    return f"{found}, which cost {rounded(row['expected_lost_gpu_hours'])}{limits} GPU-hours"


def _rate_in_words(row: dict[str, Any]) -> str:
    if row["has_enough_data"] is False:
        return str(row["rate_note"])
    if row["rate_high"] is None:
        return "unknown"
    jobs = {
        "gpus_gt_128": "jobs of more than 128 GPUs",
        "whole_nodes": "jobs on whole nodes",
        "nodes": "nodes in use",
        "all": "all jobs",
    }[row["population"]]
    failures = rounded(row["rate_failures"])
    evidence = f"{failures} failure{'s' * (failures != '1')} in {rounded(row['node_days'])} node-days, {jobs}"
    if not row["rate_failures"]:
        return f"per 1,000 node-days: none seen, below {rounded(row['rate_high'])} (90%; {evidence})"
    limits = f"{rounded(row['rate_low'])} to {rounded(row['rate_high'])}"
    return f"{rounded(row['rate'])} per 1,000 node-days, 90% interval {limits} ({evidence})"
