"""The report: reads the finished tables, renders the page, replaces the file in one step."""

from __future__ import annotations

import datetime as dt

import dagster as dg

from assets.report.folder import ReportFolder
from assets.report.page import VEGA, build, figures_of, render, vega_bundle
from assets.report.queries import read_frames, tables_read
from assets.report.summary_files import changes_of, write_summary_files
from assets.warehouse import Warehouse


@dg.asset(
    key=["report", "index"],
    group_name="report",
    kinds={"python", "html"},
    deps=[dg.AssetKey(table.split(".")) for table in (*tables_read(), "ops.cluster_failures")],
    description="The page people read: one HTML file that needs nothing beside it. One chapter per cluster.",
)
def index(warehouse: dg.ResourceParam[Warehouse], report: ReportFolder) -> dg.MaterializeResult[None]:
    """Write the report from marts, estimates and ops."""
    made_at = dt.datetime.now(dt.UTC)
    with warehouse.reading() as con:
        frames = read_frames(con)
    changes = changes_of(report, frames)
    page = build(frames, made_at, changes)
    html = render(page, report.kept(VEGA, vega_bundle))
    path = report.replace_page(html)
    write_summary_files(report, frames, changes, made_at)
    return dg.MaterializeResult(
        metadata={
            "path": dg.MetadataValue.path(path),
            "size_bytes": len(html.encode()),
            "clusters": len(page.chapters),
            "figures": len(list(figures_of(page))),
        }
    )
