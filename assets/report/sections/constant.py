"""Whether one failure rate holds: for small and large jobs, early and late in a job, here and there, then and now."""

from __future__ import annotations

import pandas as pd

from assets.model.scale_verdicts import VERDICT_IN_WORDS
from assets.report.blocks import Block, Cell, Figure, Section, Table, Text, columns, row
from assets.report.figures.ratios import ratios as draw
from assets.report.numbers import UNKNOWN, confidence, gpus, printable, short, whole
from assets.report.queries import Frames, Row, of_cluster, one
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
    blocks: list[Block] = [_scale(one(frames, "scale_tests", cluster_id))]
    shapes = [each for each in of_cluster(frames, "time_to_failure", cluster_id) if each["gpu_size_bin"]]
    blocks.append(Text(_words_on_age(shapes)))
    if shapes:
        fitted = [each for each in shapes if each["weibull_shape"] is not None]
        blocks.extend([_shape_figure(fitted)] if fitted else [])
        blocks.append(_shape_table(shapes))
    compared = _compared(frames, cluster)
    if compared:
        known = [each for each in compared if each["counted_as"] == "incidents" and each["ratio"]]
        blocks.extend([_ratio_figure(known, cluster_id)] if known else [])
        blocks.append(_ratio_table(compared, cluster))
    else:
        blocks.append(Text("There is nothing to compare the failure rate with.", "note"))
    return Section("constant", "Constant rate", TITLE, tuple(blocks))


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
    for each in shapes:
        said.setdefault(each["verdict"], []).append(gpus(each["gpu_size_bin"]))
    parts = [
        f"{AGE_VERDICTS.get(verdict, verdict)} ({plural(len(said[verdict]), 'size')}: {', '.join(said[verdict])})"
        for verdict in AGE_VERDICTS
        if verdict in said
    ]
    return f"Over the life of an attempt, the rate of failure: {'; '.join(parts)}."


def _shape_figure(rows: list[Row]) -> Figure:
    frame = pd.DataFrame([
        {
            "label": gpus(each["gpu_size_bin"]),
            "ratio": each["weibull_shape"],
            "low": each["weibull_shape_low"],
            "high": each["weibull_shape_high"],
            "k": f"k = {whole(each['event_count'])}",
            "text": f"{short(each['weibull_shape'])} ({span(each['weibull_shape_low'], each['weibull_shape_high'])})",
        }
        for each in rows
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
                gpus(each["gpu_size_bin"]),
                whole(each["event_count"]),
                f"{short(each['exposure'])} h",
                short(each["weibull_shape"]),
                span(each["weibull_shape_low"], each["weibull_shape_high"]),
                Cell(each["verdict"], detail=printable(each["note"], 160) if each["note"] else ""),
                _fit(each["goodness_of_fit_p_value"]),
            )
            for each in rows
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
        each
        for each in frames["rate_ratios"]
        if here in (each["cluster_id"], each["other_cluster_id"])
        and (cluster["is_simulated"] or not (each["is_simulated"] or each["other_is_simulated"]))
    ]


def _name(each: Row, here: str) -> str:
    if each["comparison"] == "clusters":
        sides = (each["cluster_id"], each["other_cluster_id"])
        return " over ".join("this cluster" if side == here else printable(side, 40) for side in sides)
    if each["comparison"] == "halves":
        day = each["boundary_date"]
        return f"later half of the days{f' (from {day})' if day else ''} over the earlier"
    return f"from {each['boundary_date']} on over before"


def _ratio_figure(rows: list[Row], here: str) -> Figure:
    frame = pd.DataFrame([
        {
            "label": _short_name(each, here),
            "ratio": each["ratio"],
            "low": each["ratio_low"],
            "high": each["ratio_high"],
            "k": f"k = {whole(each['failure_count'])}, {whole(each['other_failure_count'])}",
            "text": f"{short(each['ratio'])} ({span(each['ratio_low'], each['ratio_high'])})",
        }
        for each in rows
    ]).astype({"ratio": "float64", "low": "float64", "high": "float64"})  # fmt: skip
    differ = sum((each["ratio_low"] or 0) > 1 or (each["ratio_high"] or 2) < 1 for each in rows)
    return Figure(
        "ratios",
        "Ratios of failure rates, counted as incidents",
        f"One dot per comparison with its interval, about the line where both rates are equal. {whole(differ)} of "
        f"{whole(len(rows))} intervals leave equality out. The table below holds every value.",
        draw(frame, "ratio of the rates"),
        note=f"Left of the line the first named rate is the lower one. At {_level(rows)}, about one in "
        f"{whole(1 / (1 - (rows[0]['confidence_level'] or 0.9)))} intervals leaves equality out by chance.",
    )


def _short_name(each: Row, here: str) -> str:
    if each["comparison"] == "annotation":
        return f"{each['boundary_date']} {printable(each['annotation'], 24)}"
    return "later half of the days" if each["comparison"] == "halves" else _name(each, here)


def _ratio_table(rows: list[Row], cluster: Row) -> Table:
    return Table(
        "Failure rates compared",
        columns("Comparison", "Counted as", "#Rate", "#Other rate", "#Ratio", f"#{_level(rows)} interval", "Verdict"),
        tuple(_ratio_row(each, cluster) for each in rows),
        note=f"Failures per {whole(1000)} node-days. Limits hold for events that come one by one: where an incident "
        "takes several attempts down, trust those of incidents.",
    )


def _ratio_row(each: Row, cluster: Row) -> tuple[Cell, ...]:
    return row(
        Cell(
            _name(each, cluster["cluster_id"]),
            detail=printable(each["annotation"], 120) if each["annotation"] else "",
            is_simulated=each["comparison"] == "clusters" and bool(each["is_simulated"] or each["other_is_simulated"]),
        ),
        Cell(each["counted_as"]),
        Cell(short(each["rate"]), detail=exposure(each["failure_count"], each["node_days"], "node-days", _noun(each))),
        Cell(
            short(each["other_rate"]),
            detail=exposure(each["other_failure_count"], each["other_node_days"], "node-days", _noun(each)),
        ),
        short(each["ratio"]),
        span(each["ratio_low"], each["ratio_high"]),
        Cell(_verdict(each), detail=printable(each["note"], 200) if each["note"] else ""),
    )


def _noun(each: Row) -> str:
    return "incident" if each["counted_as"] == "incidents" else "failure"


def _verdict(each: Row) -> str:
    low, high = each["ratio_low"], each["ratio_high"]
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
    return confidence(next((each["confidence_level"] for each in rows if each["confidence_level"]), None))
