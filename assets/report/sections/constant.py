"""Whether one failure rate holds: for small and large jobs, early and late in a job, here and there, then and now."""

from __future__ import annotations

import pandas as pd

from assets.model.failure_rate import MIN_NODE_DAYS
from assets.model.scale_verdicts import VERDICT_IN_WORDS
from assets.report.blocks import Block, Cell, Figure, Section, Table, Text, columns, row
from assets.report.figures.ratios import ratios as draw
from assets.report.numbers import UNKNOWN, confidence, gpus, printable, short, whole
from assets.report.queries import Frames, Row, of_cluster, only_row
from assets.report.wording import exposure, plural, span

TITLE = "Is the failure rate constant?"
AGE_VERDICTS = {
    "constant": "constant",
    "rises": "rises: attempts fail more the longer they run",
    "falls": "falls: attempts that got going fail less",
    "cannot tell": "cannot tell",
}


def constant(frames: Frames, cluster: Row) -> Section:
    """Build the section on whether the failure rate is constant."""
    cluster_id = cluster["cluster_id"]
    blocks: list[Block] = [_scale(only_row(frames, "scale_tests", cluster_id))]
    shapes = [fit for fit in of_cluster(frames, "time_to_failure", cluster_id) if fit["gpu_size_bin"]]
    blocks.append(Text(_words_on_age(shapes)))
    if shapes:
        fitted = [fit for fit in shapes if fit["weibull_shape"] is not None]
        blocks.extend([_shape_figure(fitted)] if fitted else [])
        blocks.append(_shape_table(shapes))
    compared = _compared(frames, cluster)
    if compared:
        known = [
            comparison
            for comparison in compared
            if comparison["counted_as"] == "incidents" and comparison["ratio"] and _has_exposure(comparison)
        ]
        blocks.extend([_ratio_figure(known, cluster_id)] if known else [])
        blocks.append(_ratio_table(sorted(compared, key=lambda row_: not _has_exposure(row_)), cluster))
    else:
        blocks.append(Text("There is nothing to compare the failure rate with.", "note"))
    return Section("constant", TITLE, tuple(blocks))


def _scale(test: Row) -> Text:
    if not test:
        return Text("Across job sizes: not tested, the cluster has no attempts to test it on.", "note")
    words = f"Across job sizes: {VERDICT_IN_WORDS.get(test['verdict'], test['verdict'])}."
    if test["beta"] is not None:
        words += (
            f" Rate proportional to nodes to the power {_signed(test['beta'])} "
            f"({_signed_span(test['beta_low'], test['beta_high'])}, {confidence(test['confidence_level'])}); up to "
            f"{short(test['equivalence_margin'], 2)} either way would not matter."
        )
    elif test["beta_low"] is not None or test["beta_high"] is not None:
        words += f" The exponent is {_signed_span(test['beta_low'], test['beta_high'])}."
    if test["exposure"]:
        words += (
            f" {exposure(test['event_count'], test['exposure'], 'node-days')}, {plural(test['size_count'], 'size')}"
        )
        if test["size_count"] > 1:
            words += f" from {short(test['node_count_min'])} to {short(test['node_count_max'])} nodes"
        words += "."
    return Text(f"{words} {_sentence(test['note'])}" if test["note"] else words)


def _words_on_age(shapes: list[Row]) -> str:
    if not shapes:
        return "Over the life of an attempt: no finished attempt has a known number of GPUs."
    said: dict[str, list[str]] = {}
    for fit in shapes:
        said.setdefault(fit["verdict"], []).append(gpus(fit["gpu_size_bin"]))
    parts = [
        f"{AGE_VERDICTS.get(verdict, verdict)} ({plural(len(said[verdict]), 'size')}: {', '.join(said[verdict])})"
        for verdict in AGE_VERDICTS
        if verdict in said
    ]
    return f"Over the life of an attempt, the rate of failure: {'; '.join(parts)}."


def _shape_figure(rows: list[Row]) -> Figure:
    frame = pd.DataFrame([
        {
            "label": gpus(fit["gpu_size_bin"]),
            "ratio": fit["weibull_shape"],
            "low": fit["weibull_shape_low"],
            "high": fit["weibull_shape_high"],
            "k": f"k = {whole(fit['event_count'])}",
            "text": f"{short(fit['weibull_shape'])} ({span(fit['weibull_shape_low'], fit['weibull_shape_high'])})",
        }
        for fit in rows
    ]).astype({"ratio": "float64", "low": "float64", "high": "float64"})  # fmt: skip
    return Figure(
        "shapes",
        "Weibull shape of the time to failure, by job size",
        f"One dot per job size with its interval, {plural(len(rows), 'size')}, about the line of shape 1, which is a "
        "constant rate. Left of it, attempts fail less the longer they run. The table below holds every value.",
        draw(frame, "Weibull shape"),
        note="Shape 1: constant. Below: falling with age, which a mixture of good and bad nodes also looks like. "
        "Above: rising.",
    )


def _shape_table(rows: list[Row]) -> Table:
    return Table(
        "Time to failure by size",
        columns(
            "Size", "#Failures (k)", "#Runtime", "#Weibull shape", f"#{_level(rows)} interval", "Rate with age", "Fit"
        ),
        tuple(
            row(
                gpus(fit["gpu_size_bin"]),
                whole(fit["event_count"]),
                f"{short(fit['exposure'])} h",
                short(fit["weibull_shape"]),
                span(fit["weibull_shape_low"], fit["weibull_shape_high"]),
                Cell(fit["verdict"], detail=printable(fit["note"], 160) if fit["note"] else ""),
                _fit(fit["goodness_of_fit_p_value"]),
            )
            for fit in rows
        ),
        note="Constant: the limits lie within 1/1.1 and 1.1. Fit: p-value of the hypothesis that times to failure are "
        "Weibull distributed, judged from 15 failures on.",
    )


def _fit(p_value: float | None) -> str:
    if p_value is None:
        return "not judged"
    return f"{'not Weibull' if p_value < 0.1 else 'agrees'} (p = {short(p_value, 2)})"


def _compared(frames: Frames, cluster: Row) -> list[Row]:
    """Select the comparisons of a cluster; a real one is not held against a simulated one in its own chapter."""
    here = cluster["cluster_id"]
    return [
        comparison
        for comparison in frames["rate_ratios"]
        if here in (comparison["cluster_id"], comparison["other_cluster_id"])
        and (cluster["is_simulated"] or not (comparison["is_simulated"] or comparison["other_is_simulated"]))
    ]


def _has_exposure(comparison: Row) -> bool:
    """Tell whether both sides were observed for long enough; a few minutes would stretch the axis over decades."""
    return min(comparison["node_days"] or 0, comparison["other_node_days"] or 0) >= MIN_NODE_DAYS


def _name(comparison: Row, here: str) -> str:
    if comparison["comparison"] == "clusters":
        sides = (comparison["cluster_id"], comparison["other_cluster_id"])
        return " over ".join("this cluster" if side == here else printable(side, 40) for side in sides)
    if comparison["comparison"] == "halves":
        day = comparison["boundary_date"]
        return f"later half of the days{f' (from {day})' if day else ''} over the earlier"
    if comparison["comparison"] == "months":
        return "last 30 days over the 30 days before"
    return f"from {comparison['boundary_date']} on over before"


def _ratio_figure(rows: list[Row], here: str) -> Figure:
    frame = pd.DataFrame([
        {
            "label": _short_name(comparison, here),
            "ratio": comparison["ratio"],
            "low": comparison["ratio_low"],
            "high": comparison["ratio_high"],
            "k": f"k = {whole(comparison['failure_count'])}, {whole(comparison['other_failure_count'])}",
            "text": f"{short(comparison['ratio'])} ({span(comparison['ratio_low'], comparison['ratio_high'])})",
        }
        for comparison in rows
    ]).astype({"ratio": "float64", "low": "float64", "high": "float64"})  # fmt: skip
    differ = sum((comparison["ratio_low"] or 0) > 1 or (comparison["ratio_high"] or 2) < 1 for comparison in rows)
    return Figure(
        "ratios",
        "Ratios of failure rates, counted as incidents",
        f"One dot per comparison with its interval, about the line where both rates are equal. {whole(differ)} of "
        f"{whole(len(rows))} intervals leave equality out. The table below holds every value.",
        draw(frame, "ratio of the rates"),
        note=f"Left of the line the first named rate is the lower one. At {_level(rows)}, about one in "
        f"{whole(1 / (1 - (rows[0]['confidence_level'] or 0.9)))} intervals leaves equality out by chance.",
    )


def _short_name(comparison: Row, here: str) -> str:
    if comparison["comparison"] == "annotation":
        return f"{comparison['boundary_date']} {printable(comparison['annotation'], 24)}"
    return "later half of the days" if comparison["comparison"] == "halves" else _name(comparison, here)


def _ratio_table(rows: list[Row], cluster: Row) -> Table:
    return Table(
        "Failure rates compared",
        columns("Comparison", "Counted as", "#Rate", "#Other rate", "#Ratio", f"#{_level(rows)} interval", "Verdict"),
        tuple(_ratio_row(comparison, cluster) for comparison in rows),
        note=f"Failures per {whole(1000)} node-days. Limits hold for events that come one by one: where an incident "
        "takes several attempts down, trust those of incidents.",
    )


def _ratio_row(comparison: Row, cluster: Row) -> tuple[Cell, ...]:
    return row(
        Cell(
            _name(comparison, cluster["cluster_id"]),
            detail=printable(comparison["annotation"], 120) if comparison["annotation"] else "",
            is_simulated=comparison["comparison"] == "clusters"
            and bool(comparison["is_simulated"] or comparison["other_is_simulated"]),
        ),
        Cell(comparison["counted_as"]),
        Cell(
            short(comparison["rate"]),
            detail=exposure(comparison["failure_count"], comparison["node_days"], "node-days", _noun(comparison)),
        ),
        Cell(
            short(comparison["other_rate"]),
            detail=exposure(
                comparison["other_failure_count"], comparison["other_node_days"], "node-days", _noun(comparison)
            ),
        ),
        short(comparison["ratio"]),
        span(comparison["ratio_low"], comparison["ratio_high"]),
        Cell(_verdict(comparison), detail=printable(comparison["note"], 200) if comparison["note"] else ""),
    )


def _noun(comparison: Row) -> str:
    return "incident" if comparison["counted_as"] == "incidents" else "failure"


def _verdict(comparison: Row) -> str:
    low, high = comparison["ratio_low"], comparison["ratio_high"]
    if low is None and high is None:
        return "cannot tell"
    if low is not None and low > 1:
        return "higher"
    return "lower" if high is not None and high < 1 else "no difference shown"


def _signed(value: float) -> str:
    return f"\N{MINUS SIGN}{short(-value)}" if value < 0 else short(value)


def _signed_span(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return (
            UNKNOWN if low is high else f"below {_signed(high)}" if high is not None else f"above {_signed(low or 0)}"
        )
    return f"{_signed(low)} to {_signed(high)}"


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."


def _level(rows: list[Row]) -> str:
    return confidence(next((estimate["confidence_level"] for estimate in rows if estimate["confidence_level"]), None))
