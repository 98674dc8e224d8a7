"""Where the time of long runs went: progress over scheduled time, the paper's ETTR, and what was to be expected."""

from __future__ import annotations

from assets.report import palette
from assets.report.blocks import Figure, Section, note, section
from assets.report.charts import NAMES_AXIS, PICKED, at, colours, figure, hover, labelled, layer, name, pick
from assets.report.numbers import gpus, share, short, whole
from assets.report.queries import Own, Row
from assets.report.tables import Col, ends, interval, table
from assets.report.wording import plural

TITLE = "Where the time of long runs went: progress and ETTR"
NONE = "No run was scheduled for 24 h and more: on shorter ones, progress rests on what is assumed of restarts alone."
MEASURED = (
    Col("Size", "gpu_size_bin", gpus),
    Col("#Runs", "run_count", whole),
    Col("#Scheduled hours", "exposure", short),
    Col("#Failures", "event_count", whole),
    Col("#Progress of scheduled time", "progress_ratio", share),
    Col("#{level} interval", lambda row: ends(row, "progress_ratio", share), detail="note"),
    interval("progress_ratio_bound", share, heading="#Bounds"),
    Col("#ETTR, waiting counted", "ettr_measured", short, limits="ettr_measured"),
)
EXPECTED = (
    Col("#Expected ETTR", "ettr_expected", short, limits="ettr_expected"),
    Col("#Expected, exact form", "ettr_expected_exact", short, limits="ettr_expected_exact"),
    Col("#Expected, the paper's v2", "ettr_expected_v2", short, limits="ettr_expected_v2"),
)
PARTS = {
    "Progress": "productive", "Checkpoint writes": "write", "Restarts": "restart", "Work lost": "lost_work",
    "Waiting": "queue",
}  # fmt: skip
"""Stems of the columns that hold the hours of a part and its share."""
MARK = "#111111"
"""Not the ink of a theme: it lies on pale bars in each."""
SHADES = dict(zip(PARTS, palette.PARTS_OF_TIME, strict=True))


def ettr(own: Own) -> Section:
    """Build the section on ETTR."""
    rows = own.rows("ettr")
    if not rows:
        return section("ettr", TITLE, note(NONE))
    assumed = {
        name: "unknown" if rows[0][f"{name}_minutes"] is None else f"{rows[0][f'{name}_minutes']:g} min"
        for name in ("checkpoint", "restart", "write")
    }
    return section(
        "ettr",
        TITLE,
        _figure(rows),
        table(
            "Progress and ETTR by run size",
            rows,
            MEASURED + EXPECTED,
            "Progress is over scheduled time, the paper's ETTR over waiting and scheduled time; both are means over "
            f"runs. Checkpoints are not in the logs. Assumed: one every {assumed['checkpoint']}, "
            f"{assumed['restart']} to restart, {assumed['write']} to write one. The bounds are what the assumption "
            "leaves open, the interval what the number of runs does; fewer than ten runs have no such limits, and the "
            "lowest and the highest run stand in their place. The paper's second version takes 5 minutes to write, "
            "5 to restart, no queue, and the interval that is best for them by Young's rule.",
        ),
        table(
            "Hours of long runs by part and run size",
            rows,
            (MEASURED[0], *map(_hours, PARTS), Col("#All", "wallclock_hours", short)),
            "Hours of all runs of the size together, and their share of them.",
        ),
        table(
            "Progress and ETTR by QOS and run size",
            own.rows("ettr_by_qos"),
            (Col("QOS", "qos"), *MEASURED),
            "The paper's figure 9 shows the QOS of the highest priority, whose runs nobody preempts.",
            is_collapsed=True,
        ),
    )


def _hours(part: str) -> Col:
    ratio = f"{PARTS[part]}_wallclock_ratio"
    return Col(f"#{part}", f"{PARTS[part]}_hours", short, detail=lambda row: share(row[ratio]) if row[ratio] else "")


def waiting(row: Row) -> str:
    """Say how long runs waited, and which ratio counts it.

    >>> waiting({"queue_hours": 440.0, "exposure": 400.0, "ettr_measured": 0.4831})
    "waited 110 h for each 100 h scheduled: the paper's ETTR, which counts waiting, is 0.483"
    >>> waiting({"queue_hours": None})
    "how long they waited is unknown, and so is the paper's ETTR: `Eligible` of `sacct` tells it"
    """
    if row["queue_hours"] is None:
        return "how long they waited is unknown, and so is the paper's ETTR: `Eligible` of `sacct` tells it"
    waited = f"waited {short(100 * row['queue_hours'] / row['exposure'])} h for each 100 h scheduled"
    return f"{waited}: the paper's ETTR, which counts waiting, is {short(row['ettr_measured'])}"


def _figure(sizes: list[Row]) -> Figure | None:
    rows = [row for row in sizes if row["wallclock_hours"]]
    if not rows:
        return None
    bars = [
        {
            "size": gpus(row["gpu_size_bin"]),
            "part": part,
            "rank": rank,
            "percent": 100 * row[f"{stem}_wallclock_ratio"],
            "hours": row[f"{stem}_hours"],
            "text": f"{share(row[f'{stem}_wallclock_ratio'])}, {short(row[f'{stem}_hours'])} h",
            "expected": None if row["ettr_expected"] is None else 100 * row["ettr_expected"],
            "k": plural(row["run_count"], "run"),
        }
        for row in rows
        for rank, (part, stem) in enumerate(PARTS.items())
    ]
    title = "% of the time; mark: expected ETTR"
    x = {"title": title, "scale": {"domain": [0, 112]}, "axis": {"tickCount": 6}}
    y = name("size", sort=[gpus(row["gpu_size_bin"]) for row in rows], title=None, axis=NAMES_AXIS)
    once = "datum.rank == 0"
    return figure(
        "ettr",
        "Where the time of long runs went, by run size",
        f"Stacked bars at {plural(len(rows), 'size')}: the shares of progress, checkpoint writes, restarts, lost work "
        "and waiting, with a mark where the failure rate lets progress end. The tables below hold every value.",
        bars,
        {"size": "Size", "part": "Part", "percent": "Share (%)", "hours": "Hours"},
        [
            layer("bar", params=[pick("part")], y=y, x=at("percent", x, stack="zero"), order=at("rank"),
                  opacity=PICKED, color=colours(SHADES, "part", title=None),
                  tooltip=hover(size="size", part="part", text="time")),
            layer("tick", where=f"{once} && isValid(datum.expected)", thickness=3, size=24, color=MARK, y=y,
                  x=at("expected", x)),
            *labelled("k", where=once, dx=4, y=y, x={"datum": 100, **x}),
        ],
        {"step": 28},
        "Progress ends at the ETTR of all runs of a size together; long runs weigh more here than in the means below.",
    )  # fmt: skip
