"""`faultline lemons`: the nodes to take out of service, in order, with reasons and a line for Slurm.

It reads estimates.est_lemon_nodes of the published file and judges nothing itself. If the data do not allow a list, it
says why.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from assets.node_lists import exclude_option
from assets.report.queries import queries_of
from assets.rows import rows_of
from orchestration.read_commands.age import with_age
from orchestration.read_commands.plan import WrongQuestion
from orchestration.read_commands.published import ReadingError, published
from orchestration.settings.environment import HomeSettings
from orchestration.terminal.values import plain

Answer = dict[str, Any]

RECORDED = "select cluster_id from marts.dim_clusters where not has_accounting"

JUDGED = ("lemon_count", "watch_count", "ok_count", "fleet_rate", "p_value", "false_discovery_ratio")
"""Values that are unknown for a cluster with too little data."""


def list_lemons(
    path: Path,
    cluster_id: str | None = None,
    limit: int | None = None,
    fresh_hours: float = HomeSettings.freshness_hours,
) -> list[Answer]:
    """Return each cluster's lemons and the nodes to watch.

    Parameters
    ----------
    path
        The published file.
    cluster_id
        One cluster only.
    limit
        The most nodes to describe; the exclude line still names every lemon.
    fresh_hours
        Older data is marked as old.

    Raises
    ------
    WrongQuestion
        The cluster does not exist.
    ReadingError
        Nothing is published, or no cluster has accounting.
    """
    with published(path) as con:
        clusters, nodes = (rows_of(con, text) for text in queries_of("lemons").values())
        recorded = {row["cluster_id"] for row in rows_of(con, RECORDED)}
    if cluster_id in recorded:
        raise ReadingError(
            f"cluster '{cluster_id}' has no accounting, and without it lemons look like nodes that work more; the "
            "report lists the nodes with the most recorded failures"
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


def with_hidden(answer: Answer) -> Answer:
    """Count the lemons and nodes to watch that a limit leaves out."""
    shown = (answer["lemon_count"] or 0) + (answer["watch_count"] or 0)
    return answer | {"hidden_count": shown - len(answer["nodes"])}
