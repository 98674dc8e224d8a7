"""Mean time to failure by job size, against the theory line, and what it projects to."""

from __future__ import annotations

from assets.report import palette
from assets.report.blocks import Cell, Figure, Pair, Section, Table, note, section
from assets.report.charts import DURATION_TICKS, SOFT, Spec, at, figure, hover, labelled, layer, log_axis, name, zoom
from assets.report.numbers import confidence, duration, gpus, printable, short, whole
from assets.report.queries import Own, Row
from assets.report.tables import Col, ends, interval, level_of, table
from assets.report.wording import POPULATIONS, event_of, exposure, extrapolation, plural
from assets.report.wording import mttf as mttf_words


def _value(row: Row) -> Cell:
    if row["event_count"] == 0 and row["mttf_hours_low"] is not None:
        detail = f"none failed ({confidence(row['confidence_level'])})"
        return Cell(f"above {duration(row['mttf_hours_low'])}", detail=detail)
    return Cell(mttf_words(row))


def _is_off_line(row: Row) -> bool:
    """Return whether the line of one constant rate lies outside of the limits of a size that failed."""
    low, high, line = row["mttf_hours_low"], row["mttf_hours_high"], row["mttf_theory_hours"]
    return bool(row["failure_count"]) and None not in (low, high, line) and not low <= line <= high


def _deviation(row: Row) -> str:
    """Quote how likely the deviation of a size is by chance, and the crash loops behind it."""
    return printable(row["note"] or "", 400) if _is_off_line(row) else ""


MEASURED = (
    Col("Size", "gpu_size_bin", gpus),
    Col("#Failures", "failure_count", whole),
    Col("#Runtime", lambda row: f"{short(row['runtime_hours'])} h"),
    Col("#MTTF", _value),
    interval("mttf_hours", duration, unless="event_count"),
    Col("#Theory", "mttf_theory_hours", duration, detail=_deviation),
)


def _meaning(row: Row) -> str:
    flags = {"is_cluster_size": "whole cluster", "is_largest_job": "largest run", "is_extrapolated": "extrapolated"}
    return ", ".join(words for flag, words in flags.items() if row[flag])


PROJECTED = (
    Col("Size", "gpu_count", gpus),
    Col("#MTTF", _value),
    interval("mttf_hours", duration, unless="event_count"),
    Col("Meaning", _meaning),
)


def mttf(own: Own) -> Section:
    """Build the section on MTTF."""
    rows, projections = [row for row in own.rows("mttf") if row["gpu_size_bin"]], own.rows("projections")
    measured = table(
        "MTTF measured",
        rows,
        MEASURED,
        "Runtime inside the study period over expected infrastructure failures; every other end, and an attempt that "
        "still runs, adds runtime and no failure.",
    )
    larger = projected("MTTF projected", projections, own)
    return section(
        "mttf",
        "Mean time to failure by job size",
        None if rows else note("No ended attempt has a known number of GPUs, so there is no MTTF by size."),
        _figure(rows, projections, own.cluster["gpu_count"]) if rows else None,
        _outliers(rows),
        Pair(measured, larger, is_left_wider=True) if measured and larger else measured or larger,
    )


def projected(caption: str, rows: list[Row], own: Own) -> Table | None:
    """Build a table of MTTF at sizes that the failure rate is projected to."""
    largest = own.row("projections", is_largest_job=True).get("gpu_count")
    beyond = {row["gpu_count"]: extrapolation(row["gpu_count"], largest) for row in rows}
    warning = next((f" Extrapolated: {text}." for text in beyond.values() if text), "")
    first = rows[0] if rows else {"population": "", "event_count": None, "exposure": None}
    return table(
        caption,
        [row | {"is_extrapolated": bool(beyond[row["gpu_count"]])} for row in rows],
        PROJECTED,
        f"1 / (nodes × failure rate of {POPULATIONS.get(first['population'], 'no population')}), "
        f"{exposure(first['event_count'], first['exposure'], 'node-days', *event_of(first))}. It takes a node to fail "
        f"as often in a large job as in a small one.{warning}",
    )


def _outliers(rows: list[Row]) -> str | None:
    """Say which sizes one constant rate does not explain, and whether chance or crash loops do."""
    said = [
        f"jobs of {gpus(row['gpu_size_bin'])} fail "
        f"{'later' if row['mttf_theory_hours'] < row['mttf_hours_low'] else 'sooner'}, after "
        f"{duration(row['mttf_hours'])} ({ends(row, 'mttf_hours', duration)}) in place of "
        f"{duration(row['mttf_theory_hours'])}: {_deviation(row)}."
        for row in rows
        if _is_off_line(row)
    ]
    return f"Off the line of one constant rate: {' '.join(said)}" if said else None


def _figure(rows: list[Row], projections: list[Row], own_gpu_count: int | None) -> Figure | None:
    measured = [_point(row) for row in rows]
    theory = _theory(rows, projections, own_gpu_count)
    if not theory and all(row["at"] is None for row in measured):
        return None
    failed = sum(bool(row["failure_count"]) for row in rows)
    return figure(
        "mttf",
        "MTTF by job size",
        f"Points at {plural(failed, 'size')} where attempts failed, with intervals; open triangles mark sizes where "
        "none failed, at the lower bound of their MTTF. The dashed line is what one constant rate per node-day gives. "
        "The table below holds every value.",
        measured,
        {"size": "Size", "mttf": "MTTF (h)", "low": "Lower limit (h)", "high": "Upper limit (h)",
         "bound": "Lower bound, none failed (h)", "rests": "Failures"},
        _layers(measured, theory, own_gpu_count),
        340,
        f"Dots: measured. Upright lines: {level_of(rows)} limits. Numbers: failures. Open triangles: none seen, the "
        "MTTF lies above. Dashed: 1 / (nodes × failure rate), thin lines: from the limits of that rate."
        + (" Dotted, upright: the whole cluster." if own_gpu_count else ""),
        theory=theory,
        cluster=[{"gpus": own_gpu_count, "label": "whole cluster"}] if own_gpu_count else [],
    )  # fmt: skip


def _layers(measured: list[Row], theory: list[Row], own_gpu_count: int | None) -> list[Spec]:
    hours = [row[end] for row in measured for end in ("mttf", "low", "high", "bound")] + [row["rate"] for row in theory]
    known = [value for value in hours if value is not None]
    y = log_axis("MTTF", DURATION_TICKS, min(known) / 2, max(known) * 3)
    sizes = [row["gpus"] for row in (*measured, *theory)] + ([own_gpu_count] if own_gpu_count else [])
    low, high = min(sizes) / 1.4, max(sizes) * 1.6
    ticks = [2**power for power in range(20) if low <= 2**power <= high]
    x = at(
        "gpus",
        scale={"type": "log", "base": 2, "domain": [low, high], "nice": False},
        title="GPUs of the job (log scale)",
        axis={"values": ticks, "format": "d", "labelOverlap": "greedy", "grid": False},
    )
    tooltip, high_end = hover(size="size", text="MTTF"), {"field": "high"}
    point: Spec = {"filled": True, "opacity": 1, "x": x, "tooltip": tooltip}
    layers: list[Spec] = [
        *(
            layer("line", "theory", f"isValid(datum.{end})", strokeWidth=0.8, color=palette.THEORY, x=x, y=at(end, y))
            for end in ("low", "high")
        ),
        layer("line", "theory", strokeDash=[6, 4], strokeWidth=2, color=palette.THEORY, x=x, y=at("rate", y)),
        layer("rule", where="isValid(datum.low) && isValid(datum.high)", strokeWidth=1.5, color=palette.MEASURED, x=x,
              y=at("low", y), y2=high_end),
        layer("point", where="isValid(datum.mttf)", params=[zoom("x", "y")], size=70, color=palette.MEASURED,
              y=at("mttf", y), **point),
        layer("point", where="isValid(datum.bound)", shape="triangle-up", fill="white", size=110,
              stroke=palette.MEASURED, y=at("bound", y), **point),
        *labelled("rests", dx=8, dy=-8, x=x, y=at("at", y)),
    ]  # fmt: skip
    if own_gpu_count:
        layers += [
            layer("rule", "cluster", color=SOFT, strokeDash=[2, 3], x=x),
            layer("text", "cluster", align="right", dx=-6, fontSize=11, color=SOFT, baseline="top", x=x,
                  y={"value": 4}, text=name("label")),
        ]  # fmt: skip
    return layers


def _point(row: Row) -> Row:
    failed = bool(row["failure_count"])
    value, bound = (row["mttf_hours"], None) if failed else (None, row["mttf_hours_low"])
    return {
        "gpus": row["gpu_size_bin"],
        "size": gpus(row["gpu_size_bin"]),
        "mttf": value,
        "low": row["mttf_hours_low"] if failed else None,
        "high": row["mttf_hours_high"] if failed else None,
        "bound": bound,
        "at": value if failed else bound,
        "rests": whole(row["failure_count"]),
        "text": mttf_words(row),
    }


def _theory(rows: list[Row], projections: list[Row], own_gpu_count: int | None) -> list[Row]:
    """Join the theory values at the measured sizes with the projections up to the cluster's own size."""
    right = max([own_gpu_count or 0, *(row["gpu_size_bin"] for row in rows)])
    line = {row["gpu_size_bin"]: (row, "mttf_theory_hours") for row in rows}
    line |= {row["gpu_count"]: (row, "mttf_hours") for row in projections if row["gpu_count"] <= right}
    return [
        {"gpus": size, "rate": row[stem], "low": row[f"{stem}_low"], "high": row[f"{stem}_high"]}
        for size, (row, stem) in sorted(line.items())
        if row[stem] is not None
    ]
