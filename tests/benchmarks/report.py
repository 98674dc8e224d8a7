"""Build the report alone from a working file: `python -m tests.benchmarks.report WORKING PAGE`."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

import duckdb

from assets.report.page import build, render
from assets.report.queries import read_frames

if __name__ == "__main__":
    with duckdb.connect(sys.argv[1], read_only=True) as con:
        con.execute("set timezone = 'UTC'")
        frames = read_frames(con)
    Path(sys.argv[2]).write_text(render(build(frames, dt.datetime.now(dt.UTC))), encoding="utf-8")
