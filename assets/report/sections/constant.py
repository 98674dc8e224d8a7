"""Whether one failure rate holds: for small and large jobs, early and late in a job, here and there, then and now."""

from __future__ import annotations

from assets.model.scale_verdicts import VERDICT_IN_WORDS
from assets.report.blocks import Figure, Section, Text, note, section
from assets.report.charts import dots, figure, intervals
from assets.report.numbers import confidence, gpus, printable, short, whole
from assets.report.queries import Own, Row, grouped
from assets.report.tables import Col, ends, interval, level_of, table
from assets.report.wording import POPULATIONS, exposure, number, plural, sentence

MIN_NODE_DAYS = 30
MONTHS_OF = POPULATIONS | {"all": "all incidents"}
AGE_VERDICTS = {
    "constant": "constant",
    "rises": "rises: attempts fail more the longer they run",
    "falls": "falls: attempts that got going fail less",
    "cannot tell": "cannot tell",
}


def _fit(row: Row) -> str:
    p_value = row["goodness_of_fit_p_value"]
    if p_value is None:
        return "not judged"
    return f"{'not Weibull' if p_value < 0.1 else 'agrees'} (p = {short(p_value, 2)})"


SHAPES = (
    Col("Size", "gpu_size_bin", gpus),
    Col("#Failures", "event_count", whole),
    Col("#Runtime", lambda row: f"{short(row['exposure'])} h"),
    Col("#Weibull shape", "weibull_shape", short),
    interval("weibull_shape"),
    Col("Rate with age", "verdict", detail="note"),
    Col("Fit", _fit),
)


def constant(own: Own) -> Section:
    """Build the section on whether the failure rate is constant."""
    shapes = [row for row in own.rows("time_to_failure") if row["gpu_size_bin"]]
    fitted = [row for row in shapes if row["weibull_shape"] is not None]
    compared = sorted(_compared(own), key=lambda row: not _has_exposure(row))
    known = [row for row in compared if row["counted_as"] == "incidents" and row["ratio"] and _has_exposure(row)]
    return section(
        "constant",
        "Is the failure rate constant?",
        _scale(own.row("scale_tests")),
        _words_on_age(shapes),
        _shape_figure(fitted),
        table(
            "Time to failure by size",
            shapes,
            SHAPES,
            "Constant: the limits lie within 1/1.1 and 1.1. Fit: p-value of the hypothesis that times to failure are "
            "Weibull distributed, judged from 15 failures on.",
        ),
        _ratio_figure(known),
        table(
            "Failure rates compared",
            compared,
            RATIOS,
            f"Failures per {whole(1000)} node-days inside the study period. Counts are sums of probabilities; limits "
            "know that one incident may take several attempts down.",
        )
        or note("There is nothing to compare the failure rate with."),
    )


def _scale(test: Row) -> Text:
    if not test:
        return note("Across job sizes: not tested, the cluster has no attempts to test it on.")
    said = f"Across job sizes: {VERDICT_IN_WORDS.get(test['verdict'], test['verdict'])}."
    if test["beta"] is not None:
        said += (
            f" Rate proportional to nodes to the power {_signed(test['beta'])} ({ends(test, 'beta', _signed)}, "
            f"{confidence(test['confidence_level'])}); up to {short(test['equivalence_margin'], 2)} either way would "
            "not matter."
        )
    elif test["beta_low"] is not None or test["beta_high"] is not None:
        said += f" The exponent is {ends(test, 'beta', _signed)}."
    if test["exposure"]:
        said += f" {exposure(test['event_count'], test['exposure'])}, {plural(test['size_count'], 'size')}"
        if test["size_count"] > 1:
            said += f" from {short(test['node_count_min'])} to {short(test['node_count_max'])} nodes"
        said += "."
    return Text(f"{said} {sentence(test['note'])}" if test["note"] else said)


def _signed(value: float) -> str:
    return f"\N{MINUS SIGN}{short(-value)}" if value < 0 else short(value)


def _words_on_age(shapes: list[Row]) -> Text | str:
    if not shapes:
        return note("Over the life of an attempt: no finished attempt has a known number of GPUs.")
    fits, said = grouped(shapes, "verdict"), []
    for verdict, words in AGE_VERDICTS.items():
        sizes = [gpus(fit["gpu_size_bin"]) for fit in fits.get(verdict, [])]
        if sizes:
            said.append(f"{words} ({plural(len(sizes), 'size')}: {', '.join(sizes)})")
    return f"Over the life of an attempt, the rate of failure: {'; '.join(said)}."


def _shape_figure(rows: list[Row]) -> Figure | None:
    if not rows:
        return None
    drawn = dots(
        rows, "weibull_shape", lambda row: gpus(row["gpu_size_bin"]), lambda row: plural(row["event_count"], "failure")
    )
    return figure(
        "shapes",
        "Weibull shape of the time to failure, by job size",
        f"One dot per job size with its interval, {plural(len(rows), 'size')}, about the line of shape 1, which is a "
        "constant rate. Left of it, attempts fail less the longer they run. The table below holds every value.",
        drawn,
        {"label": "Size", "value": "Weibull shape", "low": "Lower limit", "high": "Upper limit", "rests": "Failures"},
        intervals(drawn, "Weibull shape", around_one=True),
        {"step": 26},
        f"Dots: shape. Lines: {level_of(rows)} limits. Dashed: shape 1, a constant rate; below, it falls with age, "
        "which a mixture of good and bad nodes also looks like; above, it rises.",
    )


def _compared(own: Own) -> list[Row]:
    """Select the comparisons of a cluster with enough seen on both sides, and of a real one with real ones alone.

    Of the months, all incidents are compared, and those of the other populations that have any.
    """
    here = own.cluster["cluster_id"]
    return [
        row | {"here": here}
        for row in own.rows_of_all("rate_ratios")
        if here in (row["cluster_id"], row["other_cluster_id"])
        and row["has_enough_data"]
        and (row["comparison"] != "months" or row["is_reference"] or row["event_count"])
        and (own.cluster["is_simulated"] or not (row["is_simulated"] or row["other_is_simulated"]))
    ]


def _has_exposure(row: Row) -> bool:
    """Tell whether both sides were observed for long enough; a few minutes would stretch the axis over decades."""
    return min(row["node_days"] or 0, row["other_node_days"] or 0) >= MIN_NODE_DAYS


def _name(row: Row) -> str:
    if row["comparison"] == "clusters":
        sides = (row["cluster_id"], row["other_cluster_id"])
        return " over ".join("this cluster" if side == row["here"] else printable(side, 40) for side in sides)
    day = row["boundary_date"]
    halves = f"later half of the days{f' (from {day})' if day else ''} over the earlier"
    months = f"last 30 days over the 30 days before, {MONTHS_OF[row['population']]}"
    return halves if row["comparison"] == "halves" else months


def _short_name(row: Row) -> str:
    return "later half of the days" if row["comparison"] == "halves" else _name(row)


def _ratio_figure(rows: list[Row]) -> Figure | None:
    if not rows:
        return None
    counts = ("failure_count", "other_failure_count")
    drawn = dots(rows, "ratio", _short_name, lambda row: " and ".join(number(row[name]) for name in counts))
    differ = sum(_verdict(row) in {"higher", "lower"} for row in rows)
    return figure(
        "ratios",
        "Ratios of failure rates, counted as incidents",
        f"One dot per comparison with its interval, about the line where both rates are equal. {whole(differ)} of "
        f"{whole(len(rows))} intervals leave equality out. The table below holds every value.",
        drawn,
        {"label": "Comparison", "value": "Ratio", "low": "Lower limit", "high": "Upper limit", "rests": "Incidents"},
        intervals(drawn, "ratio of the rates", around_one=True),
        {"step": 26},
        f"Dots: ratio. Lines: {level_of(rows)} limits. Numbers: incidents on both sides. Dashed: equal rates; left of "
        "it the first named rate is the lower one, and about one in "
        f"{whole(1 / (1 - (rows[0]['confidence_level'] or 0.9)))} lines misses it by chance.",
    )


def _compared_with(row: Row) -> str:
    is_simulated = row["comparison"] == "clusters" and bool(row["is_simulated"] or row["other_is_simulated"])
    return _name(row) + (" (simulated)" if is_simulated else "")


def _rests_on(row: Row, side: str = "") -> str:
    noun = "incident" if row["counted_as"] == "incidents" else "failure"
    return exposure(row[f"{side}failure_count"], row[f"{side}node_days"], event=noun)


VERDICTS = {"worse": "higher", "better": "lower", "no change shown": "no difference shown"}


def _verdict(row: Row) -> str:
    return VERDICTS.get(row["verdict"], "cannot tell")


RATIOS = (
    Col("Comparison", _compared_with),
    Col("Counted as", "counted_as"),
    Col("#Rate", "rate", short, detail=_rests_on),
    Col("#Other rate", "other_rate", short, detail=lambda row: _rests_on(row, "other_")),
    Col("#Ratio", "ratio", short),
    interval("ratio"),
    Col("Verdict", _verdict, detail="note"),
)
