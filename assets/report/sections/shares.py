"""How attempts ended and how large they were, each by count and by GPU time."""

from __future__ import annotations

from assets.report import palette
from assets.report.blocks import Pair, Section, Table, note, section
from assets.report.charts import INK, NAMES_AXIS, Spec, at, colours, figure, hover, layer, name
from assets.report.numbers import gpus, share, short, whole
from assets.report.queries import Own, Row
from assets.report.tables import Col, table
from assets.report.wording import plural

SHADES = {"attempts": palette.ATTEMPTS, "GPU time": palette.GPU_TIME}
NONE = "No ended attempt was recorded."


def _columns(heading: str) -> tuple[Col, ...]:
    return (
        Col(heading, "name"),
        Col("#Attempts", "attempt_count", whole),
        Col("#Share of attempts", "attempt_ratio", share),
        Col("#GPU-hours", "gpu_hours", short),
        Col("#Share of GPU time", "gpu_time_ratio", share),
    )


def states(own: Own) -> Section:
    """Build the section on how attempts ended."""
    title, rows = "How attempts ended", own.rows("states")
    plain = [row | {"name": row["state"]} for row in rows if not row["is_infrastructure"]]
    among = "".join(
        f"Among them {plural(row['expected_failure_count'], 'infrastructure failure')}: NODE_FAIL, BOOT_FAIL, and "
        "FAILED or REQUEUED attempts with evidence against a node, each counted with its probability."
        for row in rows
        if row["is_infrastructure"]
    )
    listed = table("Attempts by final state", plain, _columns("State"), among)
    return section("states", title, _pair("states", title, "State", plain, listed) or note(NONE))


def sizes(own: Own) -> Section:
    """Build the section on job sizes."""
    title = "Job sizes"
    rows = [
        row | {"name": gpus(row["gpu_size_bin"]), "attempt_count": row["job_count"], "attempt_ratio": row["job_ratio"]}
        for row in own.rows("sizes")
    ]
    listed = table("Attempts by size", rows, _columns("Size"), "Allocated GPUs rounded up to the next power of two.")
    unknown = "Attempts whose GPU count is unknown have no GPU time here; they are not attempts without GPUs."
    return section(
        "sizes",
        title,
        _pair("sizes", title, "Size", rows, listed) or note(NONE),
        note(unknown) if any(row["gpu_size_bin"] is None for row in rows) else None,
    )


def _pair(key: str, title: str, heading: str, drawn: list[Row], listed: Table | None) -> Pair | None:
    """Draw paired bars beside their table; a share that is unknown gets no bar and says so."""
    if listed is None:
        return None
    bars = [
        {
            "name": row["name"],
            "measure": measure,
            "percent": None if row[column] is None else 100 * row[column],
            "at": 100 * (row[column] or 0.0),
            "text": share(row[column]),
        }
        for row in drawn
        for measure, column in zip(SHADES, ("attempt_ratio", "gpu_time_ratio"), strict=True)
    ]
    top = max((bar["at"] for bar in bars), default=0.0) or 100.0
    x = {"title": "share of the total (%)", "axis": {"tickCount": 6}, "scale": {"domain": [0, top * 1.18]}}
    row_of: Spec = {
        "y": name("name", sort=[row["name"] for row in drawn], title=None, axis=NAMES_AXIS),
        "yOffset": name("measure", sort=list(SHADES)),
    }
    largest = max(drawn, key=lambda row: row["attempt_count"])
    chart = figure(
        key,
        f"{title}: share of attempts and of GPU time",
        "Paired bars: share of attempts and share of GPU time. "
        f"Most attempts: {largest['name']}, {share(largest['attempt_ratio'])}. The table beside it holds every value.",
        bars,
        {"name": heading, "measure": "Share of", "percent": "Share (%)"},
        [
            layer("bar", **row_of, x=at("percent", x), color=colours(SHADES, "measure", title=None),
                  tooltip=hover(name="what", measure="share of", text="share")),
            layer("text", align="left", dx=4, fontSize=11, color=INK, **row_of, x=at("at", x), text=name("text")),
        ],
        {"step": 15},
    )  # fmt: skip
    return Pair(chart, listed)
