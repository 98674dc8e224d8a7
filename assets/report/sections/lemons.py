"""Lemon nodes: the list with its evidence, ready for Slurm, and whether such lists were right in the past."""

from __future__ import annotations

from assets.model.lemon_verdicts import LIST_LIMIT
from assets.node_lists import exclude_option, safe_names
from assets.report.blocks import Block, Cell, Section, Table, Text, columns, row
from assets.report.numbers import chance, confidence, moment, printable, share, short, whole
from assets.report.queries import Frames, Row, of_cluster, only_row
from assets.report.sections.lemon_signals import signals
from assets.report.wording import plural, sentence, span

TITLE = "Lemon nodes: those that fail far more often than the rest"
POPULATIONS = {
    "all": "All large attempts",
    "all_without_lemon_failures": "The same, had lemons failed none",
    "with_lemon_node": "Attempts on at least one lemon",
    "without_lemon_node": "Attempts on no lemon",
}


def lemons(frames: Frames, cluster: Row) -> Section:
    """Build the section on lemon nodes."""
    cluster_id = cluster["cluster_id"]
    fleet = only_row(frames, "lemon_fleets", cluster_id)
    if not fleet:
        said = "There is no accounting of this cluster's nodes, so the data cannot tell which of them are lemons."
        return Section("lemons", TITLE, (Text(said, "note"),))
    blocks: list[Block] = [*_found(fleet), _nodes(of_cluster(frames, "lemon_nodes", cluster_id), fleet)]
    if fleet["lemon_count"]:
        blocks.append(_exclude(fleet))
    blocks += _root_causes(of_cluster(frames, "lemon_root_causes", cluster_id))
    blocks += signals(of_cluster(frames, "lemon_signals", cluster_id))
    blocks += _effects(of_cluster(frames, "lemon_effects", cluster_id))
    blocks += _lists(of_cluster(frames, "lemon_lists", cluster_id))
    return Section("lemons", TITLE, tuple(blocks))


def _found(fleet: Row) -> list[Block]:
    days = f"{fleet['window_start_date']} to {fleet['window_end_date']}"
    rests_on = (
        f"{plural(fleet['failure_count'], 'failure')} of known culprit in {short(fleet['node_days'])} node-days in use"
    )
    others = (
        f"{whole(fleet['watch_count'])} to watch, {whole(fleet['ok_count'])} ok, "
        f"{whole(fleet['not_enough_data_count'])} without enough data."
    )
    if fleet["refusal"]:
        said = f"The data cannot tell: {printable(fleet['refusal'], 200)} ({days}, {rests_on}). {others}"
        return [Text(said, "note")]
    wrong = fleet["false_discovery_ratio"]
    said = f"{plural(fleet['lemon_count'], 'lemon')} among {plural(fleet['node_count'], 'node')}"
    said += f"; {share(wrong)} of these names are expected to be wrong" if wrong is not None else ""
    said += f" ({days}, {rests_on}). {others}"
    if fleet["fleet_rate"] is not None:
        said += f" Normal nodes fail {short(fleet['fleet_rate'])} times per {whole(1000)} node-days in use."
    return [Text(said, "warning" if fleet["lemon_count"] else "good")]


def _nodes(nodes: list[Row], fleet: Row) -> Table:
    level = confidence(fleet["confidence_level"])
    return Table(
        "Nodes by how surely they are lemons",
        columns(
            "#Rank",
            "Node",
            "Verdict",
            "#Probability",
            f"#Failures per 1,000 node-days ({level})",
            "#Failures (k)",
            "Reasons",
            "Evidence",
        ),
        tuple(
            row(
                "not ranked" if node["rank"] is None else whole(node["rank"]),
                printable(node["node_name"]),
                node["verdict"],
                chance(node["posterior_probability"]),
                _rate(node),
                Cell(whole(node["event_count"]), detail=f"in {short(node['exposure'])} node-days"),
                printable(node["reasons"], 500),
                _evidence(node),
            )
            for node in nodes
        ),
        note=f"{whole(len(nodes))} of {plural(fleet['node_count'], 'node')}: every lemon, then those to watch, then by "
        "rank. The probability is that of failing at least three times as often as normal nodes; a list ends where "
        f"{share(LIST_LIMIT)} of its names are expected to be wrong. Rates are drawn towards the node's group.",
        is_collapsed=not fleet["lemon_count"] and not fleet["watch_count"],
    )


def _rate(node: Row) -> Cell:
    if node["rate"] is None:
        return Cell("not estimated")
    return Cell(short(node["rate"]), detail=span(node["rate_low"], node["rate_high"]))


def _evidence(node: Row) -> str:
    said = [f"{moment(failure['failed_at'])} {printable(failure['label'])}" for failure in node["failures"] or []]
    said += [
        f"ticket {printable(ticket['ticket_id'], 24)}: {printable(ticket['component'], 24)}"
        for ticket in node["tickets"] or []
    ]
    return "; ".join(said) or "none beside the counts"


def _exclude(fleet: Row) -> Table:
    """Write the line for Slurm; a name that a shell or Slurm would read as something else stays out of it."""
    names = fleet["lemon_names"]
    line, odd = exclude_option(names), len(names) - len(safe_names(names))
    return Table(
        "Ready for sbatch and srun",
        columns("Leaves the lemons out of a job"),
        ((Cell(line or "no name can be given to Slurm", is_code=line is not None),),),
        note=f"{plural(odd, 'name')} cannot stand on a command line and {'is' if odd == 1 else 'are'} left out."
        if odd
        else "",
    )


def _root_causes(causes: list[Row]) -> list[Block]:
    if not causes:
        return []
    first = causes[0]
    notes = {printable(cause["note"], 200) for cause in causes if cause["note"]}
    return [
        Table(
            "What was wrong with the lemons",
            columns("Root cause", "#Lemons", "#Share", f"#{confidence(first['confidence_level'])} interval"),
            tuple(
                row(
                    printable(cause["root_cause"]),
                    whole(cause["node_count"]),
                    share(cause["ratio"]),
                    _shares(cause, "ratio"),
                )
                for cause in causes
            ),
            note="The component that most repair tickets of a lemon name, as in the paper's table II."
            + "".join(f" Unknown: {note}." for note in sorted(notes)),
        )
    ]


def _effects(effects: list[Row]) -> list[Block]:
    if not any(effect["attempt_count"] for effect in effects):
        why = next((effect["note"] for effect in effects if effect["note"]), "no large attempt ended")
        return [Text(f"What lemons do to large jobs cannot be told: {printable(why, 200)}.", "note")]
    first = effects[0]
    note = (
        f"Attempts of {gpus_and_more(first['large_gpu_count'])}, over the days on which the lemons were found, which "
    )
    note += "flatters the list; the table after this one judges lists by the days that followed."
    return [
        Table(
            f"Failed attempts of {gpus_and_more(first['large_gpu_count'])}, with lemons and without",
            columns(
                "Attempts", "#Failed (k)", "#Attempts", "#Share", f"#{confidence(first['confidence_level'])} interval"
            ),
            tuple(
                row(
                    POPULATIONS.get(effect["population"], printable(effect["population"])),
                    whole(effect["failure_count"]),
                    whole(effect["attempt_count"]),
                    share(effect["failure_ratio"]),
                    _shares(effect, "failure_ratio"),
                )
                for effect in effects
            ),
            note=note + (f" {sentence(printable(first['note'], 200))}" if first["note"] else ""),
        )
    ]


def gpus_and_more(count: int | None) -> str:
    """Name the size from which a job is called large.

    >>> gpus_and_more(512)
    '512 GPUs and more'
    """
    return "unknown size" if count is None else f"{whole(count)} GPUs and more"


def _shares(estimate: Row, name: str) -> str:
    low, high = estimate[f"{name}_low"], estimate[f"{name}_high"]
    return "not estimated" if low is None or high is None else f"{share(low)} to {share(high)}"


def _lists(lists: list[Row]) -> list[Block]:
    judged = [evaluation for evaluation in lists if evaluation["window_end_date"] is not None]
    if not judged:
        why = next((evaluation["note"] for evaluation in lists if evaluation["note"]), "no list was made")
        return [Text(f"Whether lists of the past were right cannot be told: {printable(why, 200)}.", "note")]
    first = judged[0]
    large = gpus_and_more(first["large_gpu_count"])
    return [
        Table(
            "Lists of the past, judged by the days that followed",
            columns(
                "List made on",
                "Judged until",
                "#Named",
                "#Proved bad",
                "#Precision",
                "#Recall",
                "#Lift",
                "#GPU-hours avoidable",
                f"#Failed jobs of {large}",
                "#Without the named",
            ),
            tuple(_list_row(evaluation) for evaluation in judged),
            note="Precision: named nodes that proved bad. Recall: bad nodes that had been named. Lift: precision over "
            "the share of bad nodes among all. A node proves bad when its failures in that time have a probability of "
            f"at most 1% at the rate of normal nodes. Small print: limits at {confidence(first['confidence_level'])}.",
        )
    ]


def _list_row(evaluation: Row) -> tuple[Cell, ...]:
    avoidable = "lost_gpu_hours_avoidable"
    why = (
        f"nobody: {printable(evaluation['note'], 160)}"
        if evaluation["method"] == "not_ranked" and evaluation["note"]
        else ""
    )
    return row(
        Cell(str(evaluation["window_end_date"]), detail=why),
        str(evaluation["judged_end_date"]),
        whole(evaluation["named_count"]),
        Cell(whole(evaluation["bad_count"]), detail=f"of {whole(evaluation['judged_count'])}"),
        _limited(evaluation, "precision", "nobody was named"),
        _limited(evaluation, "recall", "none proved bad"),
        "not estimated" if evaluation["lift"] is None else short(evaluation["lift"]),
        Cell(
            short(evaluation[avoidable]), detail=span(evaluation[f"{avoidable}_low"], evaluation[f"{avoidable}_high"])
        ),
        _limited(evaluation, "large_job_failure_ratio", "no such job"),
        _limited(evaluation, "large_job_failure_ratio_without_lemons", "no such job"),
    )


def _limited(evaluation: Row, name: str, why_not: str) -> Cell:
    return (
        Cell(why_not) if evaluation[name] is None else Cell(share(evaluation[name]), detail=_shares(evaluation, name))
    )
