"""Records of failures as clusters of one home: LANL's systems and InfiniteHBD's servers, refreshed by the product."""

from __future__ import annotations

import json
import lzma
import tempfile
from collections import defaultdict
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import pandas as pd

from orchestration.settings.home import Home
from tests.conftest import refresh
from tests.studies import DataMissingError, data_file

HBD = "infinitehbd"
SERVERS, DAYS = 400, 348
DAY_0 = datetime(2024, 1, 1, tzinfo=UTC)
"""The trace counts days from its own beginning; which day that was it does not say."""
TRACE = Path(__file__).parents[1] / "fixtures" / "hbd" / "fault_trace.json.xz"
LANL_CAUSES = ("Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software")
LANL_MAP = f"""
timezone = "UTC"

[failures]
date_format = "%m/%d/%Y %H:%M"
duration_unit = "minutes"

[failures.columns]
node = "nodenumz"
from = "Prob Started"
to = "Prob Fixed"
duration = "Down Time"
cause = {json.dumps(LANL_CAUSES)}
"""
"""The release names no time zone: without one, no time between failures is changed by daylight saving."""
HBD_MAP = f"""
timezone = "UTC"

[failures.columns]
detail = "detail"

[[failures.in_service]]
units = {SERVERS}
from = {DAY_0:%Y-%m-%d}
to = {DAY_0 + timedelta(DAYS):%Y-%m-%d}
"""
_FOLDERS: list[tempfile.TemporaryDirectory[str]] = []
"""Homes that live as long as this process."""


@cache
def refreshed() -> Path:
    """Refresh a home of the studies that have their data, and return the published file."""
    _FOLDERS.append(tempfile.TemporaryDirectory(prefix="faultline-studies-"))
    home = Home.at(Path(_FOLDERS[-1].name))
    _write_hbd(home.sources)
    with suppress(DataMissingError):
        _write_lanl(home.sources)
    refresh(home)
    return home.published_file


def lanl_release() -> Path:
    """Give LANL's file, or raise `DataMissingError`."""
    return data_file("lanl")


def _write_lanl(sources: Path) -> None:
    """Split the release into a folder per system."""
    records = pd.read_csv(lanl_release(), dtype=str, keep_default_na=False)
    for system, of_system in records.groupby("System"):
        _write(sources / f"lanl-system-{int(str(system)):02}", LANL_MAP, of_system)


def _write_hbd(sources: Path) -> None:
    """Join starts and ends of faults, of a server and a kind in the order of their times."""
    open_faults: dict[tuple[str, str], list[float]] = defaultdict(list)
    rows = []
    events = json.loads(lzma.decompress(TRACE.read_bytes()))
    for event in sorted(events, key=lambda event: (event["event_time"], event["event_type"] == "fault_end")):
        fault = event["fault_type"]
        key = (event["node_id"], json.dumps(fault, sort_keys=True))
        if event["event_type"] == "fault_start":
            open_faults[key].append(event["event_time"])
            continue
        start, end = (DAY_0 + timedelta(days) for days in (open_faults[key].pop(0), event["event_time"]))
        cause = f"{fault['Level']}: {fault['Class']}"
        rows.append((event["node_id"], start.isoformat(), end.isoformat(), cause, fault["Desc"]))
    _write(sources / HBD, HBD_MAP, pd.DataFrame(rows, columns=["node", "from", "to", "cause", "detail"]))


def _write(cluster: Path, settings: str, records: pd.DataFrame) -> None:
    (cluster / "failures").mkdir(parents=True)
    (cluster / "cluster.toml").write_text(settings, encoding="utf-8")
    records.to_csv(cluster / "failures" / "failures.csv", index=False)
