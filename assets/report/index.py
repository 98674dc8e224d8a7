"""The report: reads the finished tables, renders the page, replaces the file in one step."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

import dagster as dg

from assets.report.changes import changes_since
from assets.report.folder import ReportFolder
from assets.report.page import VEGA, build, figures_of, render, vega_bundle
from assets.report.queries import read_queries, tables_read
from assets.report.summary import draw_summary, write_summary
from assets.warehouse import Warehouse

IS_WHOLE = "every_section_is_made"


@dg.asset(
    key=["report", "index"],
    group_name="report",
    kinds={"python", "html"},
    deps=[dg.AssetKey(table.split(".")) for table in (*tables_read(), "ops.cluster_failures")],
    description="The report: one self-contained HTML file, with one chapter per cluster.",
    check_specs=[
        dg.AssetCheckSpec(IS_WHOLE, asset=["report", "index"], description="Every section of every cluster was made.")
    ],
)
def index(warehouse: dg.ResourceParam[Warehouse], report: ReportFolder) -> Iterator[dg.MaterializeResult[None]]:
    """Write the report from marts, estimates and ops."""
    made_at = dt.datetime.now(dt.UTC)
    with warehouse.reading() as con:
        query_rows = read_queries(con)
    changes = changes_since(report.published, query_rows["numbers"]) if report.published.is_file() else None
    built = build(query_rows, made_at, changes, report.earlier, report.fresh_hours, sources=report.sources)
    html = render(built, report.kept(VEGA, vega_bundle))
    path = report.replace_page(html)
    report.replace_beside("summary.md", write_summary(built, changes, made_at).encode())
    report.replace_beside("summary.png", draw_summary(built, made_at))
    yield dg.MaterializeResult(
        metadata={
            "path": dg.MetadataValue.path(path),
            "size_bytes": len(html.encode()),
            "clusters": len(built.chapters),
            "figures": len(list(figures_of(built))),
        },
        check_results=[
            dg.AssetCheckResult(
                check_name=IS_WHOLE,
                passed=not built.not_made,
                severity=dg.AssetCheckSeverity.WARN,
                description="\n".join(built.not_made) or None,
            )
        ],
    )
