"""The events to report: of a publication, of a failed refresh, and of a night without a publication.

Events are computed from the published state, not from differences: if a process dies before it sends an event, the next
one finds it again. Clusters that keep older numbers have no new changes and lemons.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from assets.bad_clusters.cluster_outcomes import CLUSTER_OUTCOMES
from assets.not_computed import NOT_COMPUTED, failed_in_words
from assets.rows import rows_of
from orchestration.alerts.ledger import Ledger
from orchestration.read_commands.published import published
from orchestration.read_commands.sent_alerts import about
from orchestration.read_commands.stale import Stale, last_run
from orchestration.settings.home import Home

NEWS_DAYS = 92
"""For a cluster seen for the first time, a change at least so many days before the end of its data is history."""
TITLES = {
    "cluster": "no new numbers",
    "change_point": "the failure rate changed",
    "lemon": "new lemon",
    "error_budget": "the error budget burns",
}
REMOVED_KEY = "a removed setting"
LEMONS = """
    select nodes.*, coalesce(names.node_name, nodes.node_id) as node_name
    from estimates.est_lemon_nodes as nodes
    left join marts.dim_nodes as names using (cluster_id, node_id)
    where nodes.verdict = 'lemon' and nodes.has_enough_data
    order by nodes.rank nulls last, nodes.node_id
"""
CHANGES = """
    from estimates.est_rate_changes
    where changed_at is not null and has_enough_data
    order by changed_at, failure_category <> 'all', failure_category
"""
BURNS = """
    from marts.agg_availability_monthly
    qualify row_number() over (partition by cluster_id order by month_date desc) = 1 and burn_pace is not null
"""


@dataclass(frozen=True)
class Event:
    """An event to send once; events with the same key are the same event (`about` parses the key).

    The subject names it in a few words, the line is for people, the details are for programs. History is remembered,
    and sent nowhere.
    """

    key: str
    subject: str = ""
    line: str = ""
    is_simulated: bool = False
    details: Mapping[str, Any] = field(default_factory=dict)
    is_history: bool = False

    @property
    def title(self) -> str:
        """The title of its message: the title of its kind, else its subject."""
        return self.subject if self.subject == REMOVED_KEY else TITLES.get(about(self.key)[0], self.subject)


def events_of_publication(home: Home, ledger: Ledger) -> Iterator[Event]:
    """Yield the events of the current publication."""
    from assets.report import news
    from assets.report.names import hide_names
    from assets.report.queries import QueryRows, grouped

    with published(home.published_file) as con:
        ends, failed = rows_of(con, f"from ({CLUSTER_OUTCOMES}) order by cluster_id"), rows_of(con, NOT_COMPUTED)
        lemons, changes, burns = (grouped(rows_of(con, sql), "cluster_id") for sql in (LEMONS, CHANGES, BURNS))
    # Error texts may quote a log.
    shown = hide_names(
        QueryRows({"clusters": ends, "clusters_without_numbers": ends, "checks": [], "not_computed": failed})
    )
    ends, failed = shown["clusters_without_numbers"], shown["not_computed"]
    if failed:
        lines = "\n".join(map(failed_in_words, failed))
        yield failure_event(lines, failed[0]["run_id"], "estimates could not be computed")
    for cluster in ends:
        name, is_simulated, through = cluster["cluster_id"], cluster["is_simulated"], cluster["data_through_at"]
        if cluster["cluster_end"] != "built":
            key, line = f"cluster:{name}:{cluster['built_at'] or 'never'}", news.not_built_line(cluster)
            yield Event(key, "could not be built", line, is_simulated, cluster)
        elif cluster["is_stale"]:
            key, line = f"cluster:{name}:{cluster['built_at'] if through else 'never'}", news.not_fetched_line(cluster)
            yield Event(key, "could not be fetched from Slurm", line, is_simulated, cluster)
        elif through is not None:
            listed = lemons.get(name, [])
            since = ledger.lemon_episodes(name, [node["node_id"] for node in listed], through.date())
            for node in listed:
                key = f"lemon:{name}:{node['node_id']}:{since[node['node_id']]}"
                yield Event(key, node["node_name"], news.lemon_line(node), is_simulated, node)
            for burn in burns.get(name, []):
                month = f"{burn['month_date']:%Y-%m}"
                key = f"error_budget:{name}:{month}:{burn['burn_pace']}"
                yield Event(key, f"error budget of {month}", news.burn_line(burn), is_simulated, burn)
            is_new = not ledger.knows(f"seen:{name}")
            for change in changes.get(name, []):
                kind, month = change["failure_category"], f"{change['changed_at']:%Y-%m}"
                is_history = is_new and through - change["changed_at"] > timedelta(days=NEWS_DAYS)
                key, line = f"change_point:{name}:{kind}:{month}", news.change_line(change)
                subject = f"{'all failures' if kind == 'all' else kind} in {month}"
                yield Event(key, subject, line, is_simulated, change, is_history)
            yield Event(f"seen:{name}", is_history=True)
    yield from _removed_key_events(home)


def _removed_key_events(home: Home) -> Iterator[Event]:
    """Yield an event for each removed key that a `cluster.toml` still has."""
    from assets.sources.settings import read_settings, warnings_of

    for file in sorted(home.sources.glob("*/cluster.toml")):
        cluster, _ = read_settings(file.parent, file.parent.name)
        for key, warning in zip(cluster.removed_keys, warnings_of(cluster), strict=True):
            yield Event(f"cluster:{cluster.cluster_id}:{key}", REMOVED_KEY, str(warning), cluster.settings.simulated)


def failure_event(message: str, run_id: str | None, subject: str = "the refresh failed") -> Event:
    """Return the event of a failed refresh; without a run, the same message is one event a day."""
    digest = hashlib.sha256(message.encode()).hexdigest()[:16]
    key = run_id or f"{datetime.now(UTC):%Y-%m-%d}:{digest}"
    return Event(f"failure:{key}", subject, message, details={"run_id": run_id})


def events_of_night(home: Home, found: Stale | None, ledger: Ledger) -> Iterator[Event]:
    """Yield the event of a night without publication, and that of a failed last run again if it may be unsent."""
    if found:
        yield Event(f"stale:{found.run_id}", "no new publication", found.line, details={"since": found.since})
    run = last_run(home)
    if run and run["status"] == "failed" and run["message"] and ledger.knows(f"failure:{run['run_id']}"):
        yield failure_event(run["message"], run["run_id"])
