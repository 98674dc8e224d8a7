"""Goodput that failures cost, by size and order, the crash loops behind it, and who is owed how much."""

from __future__ import annotations

import math

from assets.report import palette
from assets.report.addresses import of_cause
from assets.report.blocks import Block, Figure, Pair, Section, Text, note, section
from assets.report.charts import FLAT_AXIS, PICKED, at, colours, figure, hover, layer, name, pick
from assets.report.names import NOTE
from assets.report.numbers import duration, gpus, moment, printable, share, short, whole
from assets.report.observed import is_doubtful
from assets.report.queries import Own, Row, grouped, summed
from assets.report.sections.failures import weighted
from assets.report.tables import Col, table
from assets.report.wording import loss_rule, number, plural, sentence

CAUSES_SHOWN = 7
OTHER = "Other causes"
SECOND_ORDER = "second order"
HOURS = ("expected_first_order_gpu_hours", "expected_second_order_gpu_hours")


def _second_share(row: Row) -> str:
    first, second = (row[name] for name in HOURS)
    if first is None or second is None:
        return share(None)
    return share(second / (first + second)) if first + second else "no loss"


FAILED = Col("#Failures", "expected_failure_count", number)
PREEMPTED = Col("#Preempted", "second_order_count", whole)
LOST = Col("#Lost GPU-hours", "expected_lost_gpu_hours", short)
PAPER = "By the paper's rule"
BY_SIZE = (
    Col("Size", lambda row: row.get("name") or gpus(row["gpu_size_bin"])),
    FAILED,
    Col("#First order", HOURS[0], short),
    PREEMPTED,
    Col("#Second order", HOURS[1], short),
    LOST,
    Col("#Share of second order", _second_share),
    Col(f"#{PAPER}", "paper_gpu_hours", short),
)
COUNTS = ("expected_failure_count", "second_order_count", "expected_lost_gpu_hours")
LOOPS = (
    Col("Job", lambda row: printable(row["job_id"] or row["run_id"])),
    Col("User", "user_name", detail=lambda row: printable(row["account"], 32)),
    Col("#Size", "gpu_count", gpus, unknown=gpus(None)),
    Col("Failed (UTC)", lambda row: f"{moment(row['started_at'])} to {moment(row['ended_at'])}",
        detail=lambda row: duration((row["ended_at"] - row["started_at"]).total_seconds() / 3600)),
    Col("#Failures in a row", "consecutive_failure_count", whole),
    Col("#Attempts", "attempt_count", whole),
    Col("#Preempted by it", "victim_count", whole),
    Col("#Lost GPU-hours, own and others'", "expected_lost_gpu_hours", short),
    Col(f"#{PAPER}", "lost_gpu_hours", short),
)  # fmt: skip


def losses(own: Own) -> Section:
    """Build the section on work lost in first and second order."""
    sizes, loops = own.rows("lost_goodput"), own.rows("crash_loops")
    title = "Lost goodput, and who lost it"
    if not any(row["failure_count"] or row["second_order_count"] for row in sizes):
        said = (
            "No ended attempt is known to have lost work to an infrastructure failure."
            if sizes
            else "No ended attempt was recorded."
        )
        return section("losses", title, said)
    price, currency = own.cluster["price_per_gpu_hour"], printable(own.cluster["currency"] or "", 8)
    chart = _figure(sizes, [weighted(row) for row in own.rows("failures")], price if currency else None, currency)
    by_size = table(
        "Lost GPU-hours by job size",
        sizes,
        BY_SIZE,
        f"Lost by each attempt: {loss_rule(own.cluster['checkpoint_minutes'])} Each loss counts with the probability "
        "that infrastructure caused it; by the paper's rule every coincidence counts in full. The size of a loss in "
        "second order is that of the attempt which was preempted. Hours in GPU-hours.",
        total=_added(sizes, *COUNTS, *HOURS, "paper_gpu_hours") | {"name": "all"},
    )
    return section(
        "losses",
        title,
        _summary(sizes),
        sentence(own.row("losses", period="study", loss="all")["note"]) if is_doubtful(own) else None,
        Pair(chart, by_size) if chart and by_size else by_size,
        table(
            f"Crash loops ({whole(len(loops))})",
            loops,
            LOOPS,
            "Job runs that infrastructure failed three times and more in a row, the dearest first, and the attempts of "
            "others that made room for their restarts.",
        )
        or "No job run failed three times and more in a row: no crash loop.",
        *_statement(own, sizes, price if currency else None, currency),
        note(NOTE) if own.cluster["are_names_hidden"] else None,
    )


def _added(rows: list[Row], *names: str) -> dict[str, float | None]:
    """Add up what is known of the losses in some columns; None: there were losses, and nothing is known of any."""
    lost = [row for row in rows if row["failure_count"] or row["second_order_count"]]
    known = {name: [row[name] for row in lost if row[name] is not None] for name in names}
    return {name: math.fsum(values) if values or not lost else None for name, values in known.items()}


def _summary(sizes: list[Row]) -> str:
    hours = _added(sizes, *HOURS, "expected_lost_gpu_hours", "paper_gpu_hours")
    first, second, total, paper = hours.values()
    said = (
        f"{short(total)} GPU-hours lost, each loss counted with its probability: {short(first)} in failed attempts "
        f"(first order) and {short(second)} in attempts preempted because a failed job came back (second order"
        + (f", {share((second or 0.0) / total)} of it" if total else "")
        + f"). {PAPER}, every coincidence in full: {short(paper)} GPU-hours."
    )
    nobody = [row for row in sizes if row["instigator_unknown_count"]]
    if nobody:
        count = sum(row["instigator_unknown_count"] for row in nobody)
        hours_of_sizes = [row["instigator_unknown_gpu_hours"] for row in nobody]
        known = [value for value in hours_of_sizes if value is not None]
        lost = short(math.fsum(known) if known else None)
        said += (
            f" Nobody knows who preempted {plural(count, 'more attempt')}, which lost {lost} GPU-hours: the second "
            "order may be larger by as much."
        )
    return said


def _figure(sizes: list[Row], failed: list[Row], price: float | None, currency: str) -> Figure | None:
    lost = [row for row in sizes if any(row[name] for name in HOURS)]
    if not lost:
        return None
    shades = _shades(failed)
    bars = [bar for row in lost for bar in _bars(row, failed, shades, price, currency)]
    largest = max(lost, key=lambda row: sum(row[name] or 0.0 for name in HOURS))
    y = {"title": "lost GPU-hours", "axis": {"tickCount": 6}}
    x = name("size", sort=list(dict.fromkeys(bar["size"] for bar in bars)), title="GPUs of the job", axis=FLAT_AXIS)
    return figure(
        "losses",
        "Lost GPU-hours by job size and cause",
        f"Stacked bars at {plural(len(lost), 'size')}: GPU-hours lost in failed attempts by cause and in second order. "
        f"Most was lost at {gpus(largest['gpu_size_bin'])}. The table beside it holds the sums.",
        bars,
        {"size": "GPUs of the job", "part": "Cause", "hours": "Lost GPU-hours"} | ({"cost": currency} if price else {}),
        [
            layer("bar", params=[pick("part")], x=x, y=at("hours", y, stack="zero"), opacity=PICKED,
                  color=colours(shades, "part", title=None), tooltip=hover(size="size", part="part", text="lost")),
        ],
        280,
        "Second order: work lost in attempts that a restarting job preempted. Sizes without a loss have no bar.",
    )  # fmt: skip


def _shades(failed: list[Row]) -> dict[str, str]:
    """Give the causes that cost most a shade of their own, and the others and the second order one each."""
    causes = grouped(failed, "failure_category")
    sums = {name: summed(rows, "lost_gpu_hours")["lost_gpu_hours"] for name, rows in causes.items()}
    ranked = sorted((name for name, hours in sums.items() if hours), key=lambda name: (-sums[name], name))
    shown = palette.in_order(ranked[:CAUSES_SHOWN])
    shades = {causes[name][0]["label"]: palette.colour_of(name) for name in shown}
    if len(ranked) > CAUSES_SHOWN:
        shades[OTHER] = palette.OTHER
    return shades | {SECOND_ORDER: palette.ATTEMPTS}


def _bars(size: Row, failed: list[Row], shades: dict[str, str], price: float | None, currency: str) -> list[Row]:
    hours = dict.fromkeys(shades, 0.0)
    for row in failed:
        if row["gpu_size_bin"] == size["gpu_size_bin"] and row["lost_gpu_hours"]:
            hours[row["label"] if row["label"] in shades else OTHER] += row["lost_gpu_hours"]
    hours[SECOND_ORDER] = size[HOURS[1]] or 0.0
    return [
        {
            "size": whole(size["gpu_size_bin"]),
            "part": part,
            "hours": value,
            "link": of_cause(size | {"label": part}) if part not in {OTHER, SECOND_ORDER} else "",
            "text": f"{short(value)} GPU-hours" + (f", {whole(value * price)} {currency}" if price else ""),
        }
        | ({"cost": value * price} if price else {})
        for part, value in hours.items()
        if value or part == SECOND_ORDER
    ]


def _statement(own: Own, sizes: list[Row], price: float | None, currency: str) -> list[Block | None]:
    owed, until = own.rows("lost_by_account"), own.cluster["data_through_at"] or own.cluster["last_at"]
    if not owed:
        return [note("No lost work is known by account.")]
    money = Col(f"#Lost ({currency})", lambda row: short(_times(row["expected_lost_gpu_hours"], price), 4))
    columns = (FAILED, PREEMPTED, LOST, *([money] if price else []), Col(f"#{PAPER}", "lost_gpu_hours", short))
    by_account = [
        {"account": account, "user_count": len(rows), **_added(rows, *COUNTS, "lost_gpu_hours")}
        for account, rows in grouped(owed, "account").items()
    ]
    by_month = [
        {"month": f"{month:%Y-%m}", "account": account, **_added(rows, *COUNTS, "lost_gpu_hours")}
        for (month, account), rows in grouped(own.rows("lost_by_month"), "month_date", "account").items()
    ]
    months = {row["month"] for row in by_month}
    # The month in which the data ends is not over.
    last_month = max(months - {str(until)[:7]} or months, default="")
    total = _added(owed, *COUNTS, "lost_gpu_hours")
    without_price = "" if price else "No price per GPU-hour is configured, so there is no sum of money. "
    unknown = sum(row["gpu_unknown_count"] for row in owed)
    counted = f"{plural(unknown, 'loss', 'losses')} of unknown GPU count are in the counts, not in the hours. "
    return [
        table(
            "GPU-hours lost by account",
            sorted(by_account, key=lambda row: (-(row["expected_lost_gpu_hours"] or 0.0), printable(row["account"]))),
            (Col("Account", "account"), Col("#Users", "user_count", whole), *columns),
        ),
        table(
            "One month: GPU-hours lost by account",
            sorted(by_month, key=lambda row: (row["month"], row["expected_lost_gpu_hours"] or 0.0), reverse=True),
            (Col("Month", "month", picked=last_month), Col("Account", "account"), *columns),
        ),
        table(
            "Credit statement: GPU-hours lost by account and user",
            owed,
            (Col("Account", "account"), Col("User", "user_name"), *columns),
            without_price
            + (counted if unknown else "")
            + "Each loss counts with its probability. A loss in second order stands under the user who was preempted.",
            total=total | {"account": "all", "user_name": ""},
        ),
        _reconciled(total["expected_lost_gpu_hours"], sum(summed(sizes, *HOURS).values())),
    ]


def _times(hours: float | None, price: float | None) -> float | None:
    return None if hours is None or price is None else hours * price


def _reconciled(stated: float | None, drawn: float) -> Text | None:
    if stated is None and not drawn:
        return None
    stated = stated or 0.0
    if math.isclose(stated, drawn, rel_tol=1e-6, abs_tol=1e-3):
        return Text(f"The statement adds up to the {short(drawn, 4)} GPU-hours lost by size.", "good")
    return Text(
        f"The statement adds up to {short(stated, 6)} GPU-hours, but {short(drawn, 6)} were lost by size: do not use "
        "it before the difference is explained.",
        "warning",
    )
