"""Effective training time ratio of long runs: measured with bounds, beside what the failure rate lets one expect."""

from __future__ import annotations

from assets.report import palette
from assets.report.blocks import Figure, Section, note, section
from assets.report.charts import FLAT_AXIS, at, figure, labelled, layer, name, told
from assets.report.numbers import duration, gpus, short, whole
from assets.report.queries import Own, Row
from assets.report.tables import Col, ends, interval, table
from assets.report.wording import plural

TITLE = "Effective training time (ETTR) of long runs"
MEASURED = (
    Col("Size", "gpu_size_bin", gpus),
    Col("#Runs", "run_count", whole),
    Col("#Scheduled hours", "exposure", short),
    Col("#Failures (k)", "event_count", whole),
    Col("#Measured", "ettr_measured", short),
    Col("#{level} interval", lambda row: ends(row, "ettr_measured"), detail="note"),
    interval("ettr_bound", heading="#Bounds"),
)
EXPECTED = (
    Col("#Expected", "ettr_expected", short, limits="ettr_expected"),
    Col("#Expected, exact form", "ettr_expected_exact", short, limits="ettr_expected_exact"),
    Col("#Expected, the paper's v2", "ettr_expected_v2", short, limits="ettr_expected_v2"),
)


def ettr(own: Own) -> Section:
    """Build the section on ETTR."""
    rows = own.rows("ettr")
    if not rows:
        return section("ettr", TITLE, note(explain_missing_ettr(own.row("runs_of_work"))))
    assumed = {
        name: "unknown" if rows[0][f"{name}_minutes"] is None else f"{rows[0][f'{name}_minutes']:g} min"
        for name in ("checkpoint", "restart", "write")
    }
    return section(
        "ettr",
        TITLE,
        _figure(rows),
        table(
            "ETTR by run size",
            rows,
            MEASURED + EXPECTED,
            f"Checkpoints are not in the logs. Assumed: one every {assumed['checkpoint']}, {assumed['restart']} to "
            f"restart, {assumed['write']} to write one. The bounds are what the assumption leaves open, the interval "
            "what the number of runs does; fewer than ten runs have no such limits, and the lowest and the highest run "
            "stand in their place. The paper's second version takes 5 minutes to write, 5 to restart, and the interval "
            "that is best for them by Young's rule.",
        ),
        table(
            "ETTR by QOS and run size",
            own.rows("ettr_by_qos"),
            (Col("QOS", "qos"), *MEASURED),
            "The paper's figure 9 shows the QOS of the highest priority, whose runs nobody preempts.",
            is_collapsed=True,
        ),
    )


def explain_missing_ettr(runs: Row) -> str:
    """Say why there is no ETTR.

    >>> explain_missing_ettr({})
    'There is no ETTR: no job run was recorded.'
    >>> explain_missing_ettr({"run_count": 3, "longest_hours": 30.0, "is_queue_unknown": True})[:45]
    'There is no ETTR: accounting does not tell wh'
    """
    if not runs:
        return "There is no ETTR: no job run was recorded."
    if runs["is_queue_unknown"]:
        return (
            "There is no ETTR: accounting does not tell when jobs became eligible, and so not how long they queued. "
            "`sacct` does with `Eligible` among its columns."
        )
    return (
        "There is no ETTR: it is measured on runs scheduled for 24 h and more, where restarts and lost work weigh "
        f"something, and the longest of the {plural(runs['run_count'], 'run')} here was scheduled for "
        f"{duration(runs['longest_hours'])}."
    )


def _figure(rows: list[Row]) -> Figure:
    drawn = [
        {
            "size": gpus(row["gpu_size_bin"]),
            "k": plural(row["run_count"], "run"),
            "measured": row["ettr_measured"],
            "low": row["ettr_measured_low"],
            "high": row["ettr_measured_high"],
            "bound_low": row["ettr_bound_low"],
            "bound_high": row["ettr_bound_high"],
            "expected": row["ettr_expected"],
            "text": f"{short(row['ettr_measured'])} ({ends(row, 'ettr_measured')})",
        }
        for row in rows
    ]
    for row in drawn:
        row["at"] = min(row[end] for end in ("low", "bound_low", "measured", "expected") if row[end] is not None)
    # Below the lowest mark there is room for its number of runs, also where that mark is at zero.
    lowest = min(row["at"] for row in drawn)
    y = {
        "scale": {"domain": [lowest - 0.15 * max(1 - lowest, 0.1), 1]},
        "title": "ETTR (1: all time productive)",
        "axis": {"tickCount": 6},
    }
    x = name("size", sort=[row["size"] for row in drawn], title="size of the run", axis=FLAT_AXIS)
    return figure(
        "ettr",
        "ETTR by run size",
        f"Measured ETTR at {plural(len(rows), 'size')}, each with its interval, the bounds that unknown checkpoints "
        "leave open, and a tick where the failure rate puts it. The table below holds every value.",
        drawn,
        {"size": "Size", "k": "Runs", "measured": "Measured", "low": "Lower limit", "high": "Upper limit",
         "bound_low": "Lower bound", "bound_high": "Upper bound", "expected": "Expected"},
        [
            layer("rule", where="isValid(datum.bound_low) && isValid(datum.bound_high)", strokeWidth=12, opacity=0.22,
                  color=palette.THEORY, x=x, y=at("bound_low", y), y2={"field": "bound_high"}),
            layer("tick", where="isValid(datum.expected)", thickness=3, size=36, color=palette.THEORY, x=x,
                  y=at("expected", y)),
            layer("rule", where="isValid(datum.low) && isValid(datum.high)", strokeWidth=1.5, color=palette.MEASURED,
                  x=x, y=at("low", y), y2={"field": "high"}),
            layer("point", filled=True, size=80, color=palette.MEASURED, opacity=1, x=x, y=at("measured", y),
                  tooltip=told(size="size", text="ETTR")),
            *labelled("k", dy=16, x=x, y=at("at", y)),
        ],
        280,
        "Dots: mean of the runs, with interval. Wide bars: from every interruption costing a whole checkpoint interval "
        "to none costing any work. Grey ticks: expected from the failure rate.",
    )  # fmt: skip
