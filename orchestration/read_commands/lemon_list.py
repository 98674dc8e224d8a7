"""`faultline lemons`: the nodes to take out of service, in order, with reasons and a line for Slurm.

It shows estimates.est_lemon_nodes of the published file and judges nothing itself. If the data do not allow a list, it
says why.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assets.node_lists import exclude_option
from assets.report.actions import lemon_words, saving_of
from assets.report.numbers import short
from assets.report.wording import stale
from assets.rows import rows_of
from orchestration.environment import HomeSettings
from orchestration.read_commands.age import as_of, with_age
from orchestration.read_commands.plan import WrongQuestion
from orchestration.read_commands.published import ReadingError, published
from orchestration.terminal import say_lines
from orchestration.values import plain

Answer = dict[str, Any]

CLUSTERS = """
    -- Accounting in which nothing was found to judge a node by.
    with not_judged as (
        select cluster_id, bool_or(started_at is not null) as has_run, bool_or(has_ended) as has_ended
        from marts.fct_attempts
        where cluster_id not in (select cluster_id from estimates.est_lemon_nodes)
        group by cluster_id
    )

    select
        clusters.cluster_id,
        clusters.is_simulated,
        bool_or(clusters.is_stale) as is_stale,
        any_value(clusters.stale_reason) as stale_reason,
        any_value(clusters.built_at) as built_at,
        any_value(clusters.data_through_at) as data_through_at,
        min(nodes.window_start_date) as window_start_date,
        min(nodes.window_end_date) as window_end_date,
        count(nodes.node_id) as node_count,
        count(*) filter (where nodes.verdict = 'lemon') as lemon_count,
        count(*) filter (where nodes.verdict = 'watch') as watch_count,
        count(*) filter (where nodes.verdict = 'ok') as ok_count,
        count(*) filter (where nodes.verdict = 'not enough data') as not_enough_data_count,
        any_value(nodes.fleet_rate) as fleet_rate,
        any_value(nodes.p_value) as p_value,
        max(nodes.false_discovery_ratio) filter (where nodes.verdict = 'lemon') as false_discovery_ratio,
        any_value(nodes.confidence_level) as confidence_level,
        sum(nodes.event_count) as failure_count,
        sum(nodes.exposure) as node_days,
        count(nodes.rank) > 0 as is_ranked,
        coalesce(bool_and(nodes.has_enough_data), true) as has_enough_data,
        case
            when count(nodes.node_id) > 0 then any_value(nodes.note)
            when not any_value(not_judged.has_run) then 'no job has run'
            when not any_value(not_judged.has_ended) then 'no job has ended'
            else 'accounting does not say which nodes a job had'
        end as refusal
    from marts.dim_clusters as clusters
    left join estimates.est_lemon_nodes as nodes using (cluster_id)
    left join not_judged using (cluster_id)
    where nodes.cluster_id is not null or not_judged.cluster_id is not null
    group by clusters.cluster_id, clusters.is_simulated
    order by clusters.is_simulated, clusters.cluster_id
"""

NODES = """
    with shown as (
        select *
        from estimates.est_lemon_nodes
        where verdict in ('lemon', 'watch')
    ),

    failures as (
        select
            suspects.cluster_id,
            suspects.node_id,
            list({failed_at: suspects.failed_at, failure_category: incidents.failure_category}
                order by suspects.failed_at desc) as last_failures
        from marts.fct_incident_suspects as suspects
        inner join shown using (cluster_id, node_id)
        inner join marts.fct_incidents as incidents using (cluster_id, incident_id)
        where suspects.is_known and cast(suspects.failed_at as date) >= shown.window_start_date
        group by suspects.cluster_id, suspects.node_id
    ),

    repairs as (
        select
            tickets.cluster_id,
            tickets.node_id,
            list({ticket_id: tickets.ticket_id, opened_at: tickets.opened_at, component: tickets.component}
                order by tickets.opened_at desc) as last_tickets
        from marts.fct_tickets as tickets
        inner join shown using (cluster_id, node_id)
        where coalesce(tickets.closed_at, tickets.opened_at) >= shown.window_start_date
        group by tickets.cluster_id, tickets.node_id
    ),

    open_outages as (
        select
            cluster_id,
            node_id,
            arg_max(coalesce(reason, state), started_at) as out_of_service_reason
        from marts.fct_node_outages
        where is_open
        group by cluster_id, node_id
    )

    select
        shown.*,
        nodes.node_name,
        shown.exposure as node_days,
        coalesce(failures.last_failures[:3], []) as last_failures,
        case when clusters.has_tickets then coalesce(repairs.last_tickets[:3], []) end as last_tickets,
        open_outages.out_of_service_reason
    from shown
    inner join marts.dim_nodes as nodes using (cluster_id, node_id)
    inner join marts.dim_clusters as clusters using (cluster_id)
    left join failures using (cluster_id, node_id)
    left join repairs using (cluster_id, node_id)
    left join open_outages using (cluster_id, node_id)
    order by shown.cluster_id, shown.verdict, shown.rank nulls last, shown.node_id
"""

RECORDED = "select cluster_id from marts.dim_clusters where not has_accounting"

JUDGED = ("lemon_count", "watch_count", "ok_count", "fleet_rate", "p_value", "false_discovery_ratio")
"""What is unknown of a cluster of which too little was seen."""


def list_lemons(
    path: Path,
    cluster_id: str | None = None,
    limit: int | None = None,
    fresh_hours: float = HomeSettings.freshness_hours,
) -> list[Answer]:
    """Read each cluster's lemons and the nodes to watch.

    Parameters
    ----------
    path
        The published file.
    cluster_id
        One cluster only.
    limit
        At most so many nodes are described; the exclude line names every lemon all the same.
    fresh_hours
        Data that ends longer ago is called old.

    Raises
    ------
    WrongQuestion
        No such cluster.
    ReadingError
        Nothing is published, or no cluster has accounting.
    """
    with published(path) as con:
        clusters, nodes = rows_of(con, CLUSTERS), rows_of(con, NODES)
        recorded = {row["cluster_id"] for row in rows_of(con, RECORDED)}
    if cluster_id in recorded:
        raise ReadingError(
            f"cluster '{cluster_id}' has no accounting, which tells lemons from nodes that work more; the report lists "
            "the nodes with the most recorded failures"
        )
    known = [cluster["cluster_id"] for cluster in clusters]
    if not known:
        raise ReadingError(f"{path} holds no cluster with accounting; `faultline doctor` says what is missing")
    if cluster_id is not None and cluster_id not in known:
        raise WrongQuestion(f"there is no cluster '{cluster_id}'; there are: {', '.join(known)}")
    answers = []
    for cluster in clusters:
        if cluster_id in (None, cluster["cluster_id"]):
            own = [node for node in nodes if node["cluster_id"] == cluster["cluster_id"] and cluster["has_enough_data"]]
            names = [node["node_name"] for node in own if node["verdict"] == "lemon"]
            judged = {} if cluster["has_enough_data"] else dict.fromkeys(JUDGED)
            answers.append(
                {**with_age(cluster, fresh_hours), **judged, "exclude": exclude_option(names), "nodes": own[:limit]}
            )
    return answers


def as_json(answers: list[Answer]) -> list[Answer]:
    """Turn dates and times into ISO 8601."""
    return [{key: plain(value) for key, value in answer.items()} for answer in answers]


def print_lemons(answers: list[Answer]) -> None:
    """Print the lists for people."""
    for number, answer in enumerate(answers):
        say_lines([*([""] if number else []), *lines_of(answer)])


def lines_of(answer: Answer) -> list[str]:
    """Put one cluster's list into lines."""
    name = f"{answer['cluster_id']}{' (a simulated cluster)' if answer['is_simulated'] else ''}"
    old = [line for line in (stale(answer), as_of(answer) if answer["is_old"] else "") if line]
    if not answer["node_count"] or not answer["has_enough_data"]:
        return [f"{name}: nothing can be told of its nodes: {answer['refusal']}", *old]
    days = f"{answer['window_start_date']} to {answer['window_end_date']}"
    failures = f"{round(answer['failure_count']):,} failures of known culprit"
    counted = f"{failures} in {short(answer['node_days'], 4)} node-days in use"
    lines = [f"{name}, {days}: {counted}", *old]
    if answer["is_ranked"]:
        wrong = answer["false_discovery_ratio"]
        lines.append(
            f"lemons: {answer['lemon_count']} of {answer['node_count']:,} nodes"
            + (f"; {wrong:.1%} of these names are expected to be wrong" if wrong is not None else "")
        )
    else:
        lines.append(f"the data cannot tell: {answer['refusal']}")
    lines.append(
        f"{answer['watch_count']:,} to watch, {answer['ok_count']:,} ok, "
        f"{answer['not_enough_data_count']:,} without enough data to tell"
    )
    if answer["fleet_rate"] is not None:
        lines.append(f"normal nodes fail {short(answer['fleet_rate'])} times per 1,000 node-days in use")
    for node in answer["nodes"]:
        lines += _node_lines(node)
    hidden = answer["lemon_count"] + answer["watch_count"] - len(answer["nodes"])
    if hidden:
        lines.append(f"{hidden} more: raise --limit")
    if answer["exclude"]:
        lines += ["", f"# {as_of(answer) or 'of unknown age'}", answer["exclude"]]
    return lines


def _node_lines(node: Answer) -> list[str]:
    place = f"{node['rank']}. " if node["rank"] is not None else ""
    lines = ["", f"{place}{node['node_name']}: {lemon_words(node)}", f"   {node['reasons']}"]
    lines.append(f"   taken out it saves: {saving_of(node)}")
    if node["last_failures"]:
        seen = [
            f"{failure['failed_at']:%Y-%m-%d %H:%M} {failure['failure_category']}" for failure in node["last_failures"]
        ]
        lines.append(f"   last failures: {', '.join(seen)}")
    if node["last_tickets"] is None:
        lines.append("   tickets: unknown, none were given")
    elif node["last_tickets"]:
        seen = [
            f"{ticket['ticket_id']} {ticket['component']} ({ticket['opened_at']:%Y-%m-%d})"
            for ticket in node["last_tickets"]
        ]
        lines.append(f"   tickets: {', '.join(seen)}")
    if node["root_cause"]:
        lines.append(f"   root cause: {node['root_cause']}")
    if node["out_of_service_reason"]:
        lines.append(f"   out of service: {node['out_of_service_reason']}")
    return lines
