"""Goodput that failures cost, by size and order, the crash loops behind it, and who is owed how much."""

from __future__ import annotations

import math
from collections.abc import Iterable

import pandas as pd

from assets.report import palette
from assets.report.addresses import of_cause
from assets.report.blocks import Block, Cell, Figure, Pair, Section, Table, Text, columns, row
from assets.report.figures.losses import SECOND_ORDER
from assets.report.figures.losses import losses as draw
from assets.report.names import NOTE
from assets.report.numbers import duration, gpus, moment, printable, share, short, whole
from assets.report.queries import Frames, Row, of_cluster
from assets.report.wording import plural

CAUSES_SHOWN = 7
OTHER = "Other causes"
TITLE = "Lost goodput, and who lost it"


def losses(frames: Frames, cluster: Row) -> Section:
    """Build the section on work lost in first and second order."""
    cluster_id = cluster["cluster_id"]
    sizes, owed = of_cluster(frames, "lost_goodput", cluster_id), of_cluster(frames, "lost_by_account", cluster_id)
    loops = of_cluster(frames, "crash_loops", cluster_id)
    if not any(size["failure_count"] or size["second_order_count"] for size in sizes):
        said = "No ended attempt lost work to an infrastructure failure." if sizes else "No ended attempt was recorded."
        return Section("losses", TITLE, (Text(said),))
    blocks: list[Block] = [Text(_summary(sizes))]
    figure = _figure(sizes, of_cluster(frames, "lost_by_cause", cluster_id), owed)
    blocks.append(Pair(figure, _by_size(sizes)) if figure else _by_size(sizes))
    blocks.append(_loops(loops) if loops else Text("No job run failed three times and more in a row: no crash loop."))
    blocks.extend(_statement(owed, sizes))
    if cluster["are_names_hidden"]:
        blocks.append(Text(NOTE, "note"))
    return Section("losses", TITLE, tuple(blocks))


def total(rows: Iterable[Row], *names: str) -> float:
    """Add up what is known of some columns.

    >>> total([{"a": 1.5, "b": None}, {"a": None, "b": 2.0}], "a", "b")
    3.5
    """
    return math.fsum(loss[name] or 0.0 for loss in rows for name in names)


def _summary(sizes: list[Row]) -> str:
    first, second = total(sizes, "first_order_gpu_hours"), total(sizes, "second_order_gpu_hours")
    parts = [
        f"{short(first + second)} GPU-hours lost: {short(first)} in failed attempts (first order) and {short(second)} "
        "in attempts preempted because a failed job came back (second order)"
        + (f", which is {share(second / (first + second))} of the loss." if first + second else "."),
        f"Weighted by the probability that infrastructure was the cause: "
        f"{short(total(sizes, 'expected_lost_gpu_hours'))} GPU-hours.",
    ]
    open_count = sum(size["instigator_unknown_count"] for size in sizes)
    if open_count:
        hours = total(sizes, "instigator_unknown_gpu_hours")
        parts.append(
            f"Nobody knows who preempted {plural(open_count, 'more attempt')}, which lost {short(hours)} GPU-hours: "
            "the second order may be larger by as much."
        )
    return " ".join(parts)


def _figure(sizes: list[Row], causes: list[Row], owed: list[Row]) -> Figure | None:
    lost = [size for size in sizes if total([size], "first_order_gpu_hours", "second_order_gpu_hours")]
    if not lost:
        return None
    colours = _colours(causes)
    hours, cost = total(owed, "lost_gpu_hours"), total(owed, "lost_cost")
    currency = next((loss["currency"] for loss in owed if loss["currency"]), "")
    price = cost / hours if currency and hours else None
    bars = [bar for size in lost for bar in _bars(size, causes, colours, price, printable(currency, 8))]
    largest = max(lost, key=lambda size: total([size], "first_order_gpu_hours", "second_order_gpu_hours"))
    return Figure(
        "losses",
        "Lost GPU-hours by job size and cause",
        f"Stacked bars at {plural(len(lost), 'size')}: GPU-hours lost in failed attempts by cause and in second order. "
        f"Most was lost at {gpus(largest['gpu_size_bin'])}. The table beside it holds the sums.",
        draw(pd.DataFrame(bars), colours),
        note="Above each bar: the share of the second order, which is work lost in attempts that a restarting job "
        "preempted. Sizes without a loss have no bar.",
    )


def _colours(causes: list[Row]) -> dict[str, str]:
    """Give the causes that cost most a shade of their own, and the others and the second order one each."""
    labels: dict[str, str] = {}
    sums: dict[str, float] = {}
    for loss in causes:
        labels[loss["failure_category"]] = loss["label"]
        sums[loss["failure_category"]] = sums.get(loss["failure_category"], 0.0) + (loss["lost_gpu_hours"] or 0.0)
    ranked = sorted((name for name, hours in sums.items() if hours), key=lambda name: (-sums[name], name))
    shown = ranked[:CAUSES_SHOWN]
    colours = {labels[name]: shade for name, shade in palette.shades_of(shown).items()}
    if len(ranked) > len(shown):
        colours[OTHER] = palette.OTHER_CAUSES
    return colours | {SECOND_ORDER: palette.ATTEMPTS}


def _bars(
    size: Row, causes: list[Row], colours: dict[str, str], price: float | None, currency: str
) -> list[dict[str, object]]:
    hours = dict.fromkeys(colours, 0.0)
    for loss in causes:
        if loss["gpu_size_bin"] == size["gpu_size_bin"] and loss["lost_gpu_hours"]:
            hours[loss["label"] if loss["label"] in colours else OTHER] += loss["lost_gpu_hours"]
    hours[SECOND_ORDER] = size["second_order_gpu_hours"] or 0.0
    whole_bar = sum(hours.values())
    common: dict[str, object] = {
        "size": whole(size["gpu_size_bin"]),
        "total": whole_bar,
        "label": f"{100 * hours[SECOND_ORDER] / whole_bar:.0f}%" if whole_bar else "",
    }
    money = "" if price is None else ", {} " + currency
    return [
        common
        | {
            "part": part,
            "hours": value,
            "link": of_cause(size["cluster_id"], part) if part not in {OTHER, SECOND_ORDER} else "",
            "text": f"{short(value)} GPU-hours" + money.format(whole(value * (price or 0))),
        }
        for part, value in hours.items()
        if value or part == SECOND_ORDER
    ]


def _by_size(sizes: list[Row]) -> Table:
    whole_row = {
        name: sum(size[name] for size in sizes)
        for name in ("failure_count", "second_order_count", "instigator_unknown_count")
    } | {
        name: total(sizes, name)
        for name in ("first_order_gpu_hours", "second_order_gpu_hours", "expected_lost_gpu_hours")
    }
    named = [(gpus(size["gpu_size_bin"]), size) for size in sizes]
    return Table(
        "Lost GPU-hours by job size",
        columns(
            "Size", "#Failed (k)", "#First order", "#Preempted", "#Second order", "#Both, weighted",
            "#Share of second order",
        ),
        tuple(
            row(
                name,
                whole(size["failure_count"]),
                short(size["first_order_gpu_hours"]),
                whole(size["second_order_count"]),
                short(size["second_order_gpu_hours"]),
                short(size["expected_lost_gpu_hours"]),
                _second_share(size),
            )
            for name, size in [*named, ("all", whole_row)]
        ),
        has_total=True,
        note="The size of a loss in second order is that of the attempt which was preempted. Hours in GPU-hours. "
        "Weighted: each loss times the probability that infrastructure caused it; the other columns follow the paper's "
        "rule.",
    )  # fmt: skip


def _second_share(size: Row) -> str:
    first, second = size["first_order_gpu_hours"], size["second_order_gpu_hours"]
    if first is None or second is None:
        return share(None)
    return share(second / (first + second)) if first + second else "no loss"


def _loops(loops: list[Row]) -> Table:
    return Table(
        f"Crash loops ({whole(len(loops))})",
        columns(
            "Job", "User", "#Size", "Failed (UTC)", "#Failures in a row", "#Attempts", "#Preempted by it",
            "#Own lost GPU-hours", "#Others' lost GPU-hours",
        ),
        tuple(
            row(
                printable(loop["job_id"] or loop["run_id"]),
                Cell(printable(loop["user_name"], 32), detail=printable(loop["account"], 32)),
                gpus(loop["gpu_count"]),
                Cell(
                    f"{moment(loop['started_at'])} to {moment(loop['ended_at'])}",
                    detail=duration((loop["ended_at"] - loop["started_at"]).total_seconds() / 3600),
                ),
                whole(loop["consecutive_failure_count"]),
                whole(loop["attempt_count"]),
                whole(loop["victim_count"]),
                short(loop["first_order_gpu_hours"]),
                short(loop["victim_gpu_hours"]),
            )
            for loop in loops
        ),
        note="Job runs that infrastructure failed three times and more in a row, the dearest first, and the attempts "
        "of others that made room for their restarts.",
    )  # fmt: skip


def _statement(owed: list[Row], sizes: list[Row]) -> list[Block]:
    if not owed:
        return [Text("No lost work is known by account.", "note")]
    currency = next((loss["currency"] for loss in owed if loss["currency"]), None)
    names = ["Account", "User", "#Failed (k)", "#Preempted", "#First order", "#Second order", "#Lost GPU-hours"]
    money = (f"#Lost ({printable(currency, 8)})",) if currency else ()
    everyone = {
        "first_order_gpu_hours": total(owed, "first_order_gpu_hours"),
        "second_order_gpu_hours": total(owed, "second_order_gpu_hours"),
        "lost_gpu_hours": total(owed, "lost_gpu_hours"),
        "lost_cost": total(owed, "lost_cost"),
        **{name: sum(loss[name] for loss in owed) for name in ("failure_count", "second_order_count")},
    }
    named = [(printable(loss["account"], 32), printable(loss["user_name"], 32), loss) for loss in owed]
    lines = [*named, ("all", "", everyone)]
    unknown = sum(loss["gpu_unknown_count"] for loss in owed)
    table = Table(
        "Credit statement: GPU-hours lost by account and user",
        columns(*names, *money),
        tuple(
            row(
                account,
                user,
                whole(loss["failure_count"]),
                whole(loss["second_order_count"]),
                short(loss["first_order_gpu_hours"]),
                short(loss["second_order_gpu_hours"]),
                short(loss["lost_gpu_hours"], 4),
                *((short(loss["lost_cost"], 4),) if currency else ()),
            )
            for account, user, loss in lines
        ),
        note=("" if currency else "No price per GPU-hour is configured, so there is no sum of money. ")
        + (
            f"{plural(unknown, 'loss', 'losses')} of unknown GPU count are in the counts, not in the hours. "
            if unknown
            else ""
        )
        + "A loss in second order stands under the user who was preempted.",
        has_total=True,
    )
    return [_by_account(owed, currency), table, _reconciled(everyone["lost_gpu_hours"], sizes)]


def _by_account(owed: list[Row], currency: str | None) -> Table:
    """Add the users of each account up."""
    accounts: dict[str, list[Row]] = {}
    for loss in owed:
        accounts.setdefault(printable(loss["account"], 32), []).append(loss)
    money = (f"#Lost ({printable(currency, 8)})",) if currency else ()
    ranked = sorted(accounts.items(), key=lambda item: (-total(item[1], "lost_gpu_hours"), item[0]))
    return Table(
        "GPU-hours lost by account",
        columns("Account", "#Users", "#Failed (k)", "#Preempted", "#Lost GPU-hours", *money),
        tuple(
            row(
                account,
                whole(len(losses)),
                whole(sum(loss["failure_count"] for loss in losses)),
                whole(sum(loss["second_order_count"] for loss in losses)),
                short(total(losses, "lost_gpu_hours"), 4),
                *((short(total(losses, "lost_cost"), 4),) if currency else ()),
            )
            for account, losses in ranked
        ),
    )


def _reconciled(stated: float, sizes: list[Row]) -> Text:
    drawn = total(sizes, "first_order_gpu_hours", "second_order_gpu_hours")
    if math.isclose(stated, drawn, rel_tol=1e-6, abs_tol=1e-3):
        return Text(f"The statement adds up to the {short(drawn, 4)} GPU-hours lost by size.", "good")
    return Text(
        f"The statement adds up to {short(stated, 6)} GPU-hours, but {short(drawn, 6)} were lost by size: do not use "
        "it before the difference is explained.",
        "warning",
    )
