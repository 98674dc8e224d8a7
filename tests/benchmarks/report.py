"""Build the report alone, as a refresh does: `python -m tests.benchmarks.report WORKING PUBLICATION PAGE`."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

from assets.report.page import build, render
from assets.report.queries import read_frames
from assets.warehouse import Warehouse

if __name__ == "__main__":
    with Warehouse(path=sys.argv[1], publication=sys.argv[2]).reading() as con:
        frames = read_frames(con)
    Path(sys.argv[3]).write_text(render(build(frames, dt.datetime.now(dt.UTC))), encoding="utf-8")
