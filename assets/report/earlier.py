"""The earlier reports, which are kept with their publications."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

PAGE = Path("report") / "index.html"
FOLDER = "../../publications/"


@dataclass(frozen=True)
class EarlierReport:
    """A report that stays with its publication; `address` is relative to `reports/latest/index.html`."""

    number: int
    run_id: str
    published_at: str
    code_version: str
    address: str


def earlier_reports(publications: Path, count: int | None = None) -> list[EarlierReport]:
    """List the reports of the kept publications, the newest first and at most `count`.

    `orchestration.publication.folders` defines the layout of the folder.
    """
    found = []
    for description in publications.glob("*/publication.json") if publications.is_dir() else ():
        folder = description.parent
        if folder.is_symlink() or folder.name.startswith(".") or not (folder / PAGE).is_file():
            continue
        try:
            described = json.loads(description.read_text(encoding="utf-8"))
            run_id, at, version = (str(described[name]) for name in ("run_id", "published_at", "code_version"))
            address = f"{FOLDER}{quote(folder.name)}/{PAGE.as_posix()}"
            report = EarlierReport(int(described["number"]), run_id, at, version, address)
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if report.run_id == folder.name:
            found.append(report)
    return sorted(found, key=lambda report: -report.number)[:count]
