"""`faultline units`: the units of systemd and the dashboard for Grafana, as files to install."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from orchestration.cli.options import fail
from orchestration.terminal import say_lines

EXAMPLES = "Example: `faultline units --out /tmp/units`"
FILES = Path(__file__).resolve().parents[1] / "units"
PROGRAM = "/opt/faultline/bin/faultline"
"""Where the units of the package expect the command."""


def units(
    out: Annotated[Path, typer.Option("--out", help="Folder to write to; a file that differs is not overwritten.")],
) -> None:
    """Write units of systemd that run this command, and a dashboard for Grafana."""
    program = str(Path(shutil.which(sys.argv[0]) or sys.argv[0]).absolute())
    if any(character.isspace() or character in "%$\\\"';" for character in program):
        fail(f"systemd would misread the path {program}; install Faultline under a path without blanks and quotes")
    files = sorted(path for path in FILES.glob("*/*") if path.is_file())
    texts = {out / path.name: path.read_text(encoding="utf-8").replace(PROGRAM, program) for path in files}
    try:
        out.mkdir(parents=True, exist_ok=True)
        changed = [path for path, text in texts.items() if path.exists() and path.read_text("utf-8") != text]
        if changed:
            fail(f"{', '.join(map(str, changed))}: there is another file; remove it or name another folder")
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        fail(f"{out} cannot be written: {error.strerror or error}; name another folder")
    say_lines([*map(str, texts), "next: docs/operations.md, As a service of systemd; docs/alerts.md, Metrics"])
