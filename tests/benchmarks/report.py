"""Build the report alone, as a refresh does: `python -m tests.benchmarks.report WORKING PUBLICATION PAGE`."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

from assets.report.folder import ReportFolder
from assets.report.page import VEGA, build, render, vega_bundle
from assets.report.queries import read_frames
from assets.warehouse import Warehouse
from orchestration.settings.code_cache import cache_folder
from orchestration.settings.home import Home

if __name__ == "__main__":
    with Warehouse(path=sys.argv[1], publication=sys.argv[2]).reading() as con:
        frames = read_frames(con)
    page = build(frames, dt.datetime.now(dt.UTC))
    home = Home.at(Path(sys.argv[1]).parents[1])
    report = ReportFolder(path=str(home.root), parts=str(cache_folder(home)))
    Path(sys.argv[3]).write_text(render(page, report.kept(VEGA, vega_bundle)), encoding="utf-8")
