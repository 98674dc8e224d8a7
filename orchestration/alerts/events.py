"""What there is to tell: events of a publication, of a refresh that failed, and of a night without one.

Events are read from what is published, never guessed from what changed: an event that was not told because a process
died is still there the next time. Clusters that keep older numbers have no new changes and lemons.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb

from assets.bad_clusters.ends import ENDS
from assets.not_computed import NOT_COMPUTED, failed_in_words
from assets.rows import rows_of
from orchestration.alerts.ledger import Event, Ledger
from orchestration.home import Home
from orchestration.publication.folders import Publication, newest_publication, pinned_publication
from orchestration.read_commands.published import published

NEWS_DAYS = 92
"""Of a cluster that is seen for the first time, a change that is older than this at the end of its data is history."""
REMOVED_KEY = "a removed setting"
"""Subject and title of the event of a key that is not read any more."""
BURN_DAYS = (1, 3, 7, 28)
"""The windows of `marts.agg_availability_monthly`."""

LEMONS = """
    select
        nodes.cluster_id,
        coalesce(names.node_name, nodes.node_id) as node_name,
        nodes.node_id,
        nodes.rank,
        nodes.posterior_probability,
        nodes.rate,
        nodes.rate_low,
        nodes.rate_high,
        nodes.confidence_level,
        nodes.verdict,
        nodes.event_count,
        nodes.window_end_date
    from estimates.est_lemon_nodes as nodes
    left join marts.dim_nodes as names using (cluster_id, node_id)
    where nodes.verdict = 'lemon' and nodes.has_enough_data
    order by nodes.cluster_id, nodes.rank nulls last, nodes.node_id
"""
CHANGES = """
    select
        cluster_id,
        failure_category,
        changed_at,
        rate_before,
        rate_before_low,
        rate_before_high,
        rate_after,
        rate_after_low,
        rate_after_high,
        ratio,
        ratio_low,
        ratio_high,
        annotation
    from estimates.est_rate_changes
    where changed_at is not null and has_enough_data
    order by cluster_id, changed_at, failure_category <> 'all', failure_category
"""

BURNS = """
    select * from marts.agg_availability_monthly
    qualify row_number() over (partition by cluster_id order by month_date desc) = 1 and burn_pace is not null
"""


def events_of_publication(home: Home, ledger: Ledger) -> tuple[list[Event], list[Event]]:
    """Read what readers see now; return what is to be told, and what is only to be remembered as known."""
    with published(home.published_file) as con:
        ends, failed = _without_names(rows_of(con, f"from ({ENDS}) order by cluster_id"), rows_of(con, NOT_COMPUTED))
        clusters = {row["cluster_id"]: row for row in ends if row["cluster_end"] == "built" and not row["is_stale"]}
        lemons, changes = (_of(rows_of(con, sql), clusters) for sql in (LEMONS, CHANGES))
        try:
            burns = _of(rows_of(con, BURNS), clusters)
        except duckdb.CatalogException:  # a publication of an earlier version, to which a rollback leads
            burns = {}
    said = "\n".join(map(failed_in_words, failed))
    events = [failure_event(said, failed[0]["run_id"], "estimates could not be computed")] if failed else []
    events += [_failing_event(row) for row in ends if row["cluster_end"] != "built"]
    events += [_not_fetched_event(row) for row in ends if row["cluster_end"] == "built" and row["is_stale"]]
    known: list[Event] = []
    for cluster_id, cluster in clusters.items():
        through = cluster["data_through_at"]
        if through is None:
            continue
        events += _lemon_events(ledger, cluster, lemons.get(cluster_id, []))
        events += [_burn_event(cluster, burn) for burn in burns.get(cluster_id, [])]
        is_new = ledger.is_new_cluster(cluster_id)
        for change in changes.get(cluster_id, []):
            is_history = is_new and through - change["changed_at"] > timedelta(days=NEWS_DAYS)
            (known if is_history else events).append(_change_event(cluster, change))
    return events, known


def _without_names(ends: list[dict[str, Any]], failed: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], ...]:
    """Hide the words of errors of clusters that hide names, as they may quote a log."""
    from assets.report.names import hide_names
    from assets.report.queries import Frames

    frames = {"clusters": ends, "clusters_without_numbers": ends, "checks": [], "not_computed": failed}
    kept = hide_names(Frames(frames))
    return kept["clusters_without_numbers"], kept["not_computed"]


def _of(rows: list[dict[str, Any]], clusters: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        if row["cluster_id"] in clusters:
            found.setdefault(row["cluster_id"], []).append(row)
    return found


def _lemon_events(ledger: Ledger, cluster: dict[str, Any], lemons: list[dict[str, Any]]) -> list[Event]:
    if not lemons:
        return []
    from assets.report.actions import lemon_words

    cluster_id = cluster["cluster_id"]
    episodes = ledger.lemon_episodes(
        cluster_id, [lemon["node_id"] for lemon in lemons], cluster["data_through_at"].date()
    )
    return [
        Event(
            f"lemon:{cluster_id}:{lemon['node_id']}:{episodes[lemon['node_id']]}",
            "lemon",
            cluster_id,
            lemon["node_name"],
            f"{lemon['node_name']}: {lemon_words(lemon)}; {_number(lemon['event_count'])} failures",
            cluster["is_simulated"],
            lemon,
        )
        for lemon in lemons
    ]


def _change_event(cluster: dict[str, Any], change: dict[str, Any]) -> Event:
    cluster_id, kind = cluster["cluster_id"], change["failure_category"]
    what = "all failures" if kind == "all" else kind
    near = f"; near {change['annotation']}" if change["annotation"] else ""
    by = f", {_interval(change, 'ratio')} times" if change["ratio"] else ""
    return Event(
        f"change_point:{cluster_id}:{kind}:{change['changed_at']:%Y-%m}",
        "change_point",
        cluster_id,
        f"{what} in {change['changed_at']:%Y-%m}",
        f"{what}: since {change['changed_at']:%Y-%m-%d} {_interval(change, 'rate_after')} incidents per 1,000"
        f" node-days, before {_interval(change, 'rate_before')}{by}{near}",
        cluster["is_simulated"],
        change,
    )


def _burn_event(cluster: dict[str, Any], burn: dict[str, Any]) -> Event:
    cluster_id, month, pace = cluster["cluster_id"], f"{burn['month_date']:%Y-%m}", burn["burn_pace"]
    rates = ", ".join(
        f"{_number(burn[f'burn_rate_{days}d'])} over {'1 day' if days == 1 else f'{days} days'}" for days in BURN_DAYS
    )
    left = burn["error_budget_left_high"]
    used = "an unknown part" if left is None else f"{_number(100 * (1 - left))}%"
    return Event(
        f"error_budget:{cluster_id}:{month}:{pace}",
        "error_budget",
        cluster_id,
        f"error budget of {month}",
        f"{pace} burn, in failed node-hours against those that the objective of {100 * burn['objective']:g}% allows:"
        f" {rates}; {used} of the budget of the month's hours so far is used",
        cluster["is_simulated"],
        burn,
    )


def _failing_event(row: dict[str, Any]) -> Event:
    built = row["built_at"]
    stays = f"keeps its numbers of {built:%Y-%m-%d %H:%M} UTC" if built else "is published without numbers"
    line = f"it could not be built and {stays}: {'; '.join(row['reasons'])}"
    return _cluster_event(row, "could not be built", line, built, "reasons")


def _not_fetched_event(row: dict[str, Any]) -> Event:
    """Make the event of a cluster that was built, but without the newest accounting."""
    ends = row["built_at"] if row["data_through_at"] else None
    known = f"its accounting ends {ends:%Y-%m-%d %H:%M} UTC" if ends else "none of its accounting is there yet"
    line = f"{row['stale_reason']}; {known}"
    return _cluster_event(row, "could not be fetched from Slurm", line, ends, "stale_reason")


def _cluster_event(row: dict[str, Any], subject: str, line: str, since: datetime | None, why: str) -> Event:
    details = {"built_at": since} | {name: row[name] for name in ("cluster_id", "is_simulated", why)}
    key = f"cluster:{row['cluster_id']}:{since or 'never'}"
    return Event(key, "cluster", row["cluster_id"], subject, line, row["is_simulated"], details)


def removed_key_events(home: Home) -> list[Event]:
    """Make an event for each key of a `cluster.toml` that is not read any more."""
    from assets.sources.settings import read_settings, warnings_of

    events = []
    for file in sorted(home.sources.glob("*/cluster.toml")):
        cluster, _ = read_settings(file.parent, file.parent.name)
        for key, warning in zip(cluster.removed_keys, warnings_of(cluster), strict=True):
            event_key, simulated = f"cluster:{cluster.cluster_id}:{key}", cluster.settings.simulated
            events.append(Event(event_key, "cluster", cluster.cluster_id, REMOVED_KEY, str(warning), simulated))
    return events


def failure_event(message: str, run_id: str | None, subject: str = "the refresh failed") -> Event:
    """Make the event of a refresh that failed; without a run, the same message is one event a day."""
    digest = hashlib.sha256(message.encode()).hexdigest()[:16]
    key = run_id or f"{datetime.now(UTC):%Y-%m-%d}:{digest}"
    return Event(f"failure:{key}", "failure", None, subject, message, details={"run_id": run_id})


def stale_event(home: Home, hours: int) -> Event | None:
    """Make the event of a home whose newest publication is older than it may be; None while it is young enough."""
    newest, pinned = newest_publication(home), pinned_publication(home)
    if newest is not None:
        since, key = _moment_of(newest), newest.run_id
        line = f"the newest publication is of {since:%Y-%m-%d %H:%M} UTC, more than {hours} hours ago"
    else:
        # Dagster's folder is made by the first refresh or web server of a home. A home that never had one lacks it.
        made = next((folder for folder in (home.dagster, home.root) if folder.is_dir()), None)
        if made is None:
            return None
        since, key = datetime.fromtimestamp(made.stat().st_ctime, UTC), "never"
        line = f"nothing was ever published, and the home was made more than {hours} hours ago"
    if datetime.now(UTC) - since <= timedelta(hours=hours):
        return None
    why = _why_stale(home)
    if pinned is not None:
        why += f"; publication {pinned.number} is pinned by `faultline rollback`"
    return Event(f"stale:{key}", "stale", None, "no new publication", f"{line}; {why}", details={"since": since})


def _moment_of(publication: Publication) -> datetime:
    """Return when a publication was made; where its description is lost, when its file was written."""
    try:
        moment = datetime.fromisoformat(publication.published_at)
    except ValueError:
        return datetime.fromtimestamp(publication.file.stat().st_mtime, UTC)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _why_stale(home: Home) -> str:
    try:
        with duckdb.connect(str(home.working_file), read_only=True) as con:
            last = con.execute("select started_at, status from ops.runs order by rowid desc limit 1").fetchone()
    except duckdb.Error:
        return "`faultline status` says more"
    if last is not None and last[1] != "succeeded":
        return f"the last run, started {last[0]:%Y-%m-%d %H:%M} UTC, failed; `faultline status` says why"
    return (
        "no run failed: no new logs came, or no refresh was started; look at the exports, and whether"
        " `faultline ui` or the timer runs"
    )


def _interval(row: dict[str, Any], name: str) -> str:
    return f"{_number(row[name])} [{_number(row[f'{name}_low'])}, {_number(row[f'{name}_high'])}]"


def _number(value: float | None) -> str:
    """Three significant digits; unknown stays unknown."""
    return "unknown" if value is None else f"{float(f'{value:.3g}'):,.10g}"
