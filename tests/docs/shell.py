"""Runs commands of the pages in a separate folder with only the programs that this module names.

Absolute paths (`/etc/faultline/token`) lead into the folder. Programs that this machine may lack are stubs: scripts
that record their arguments and succeed. Faultline's own command line then checks the recorded arguments.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from fnmatch import fnmatch
from pathlib import Path

import pytest
import typer

from orchestration.cli import app
from orchestration.settings.home import PROJECT, Home
from tests.conftest import CAPTURE
from tests.docs.blocks import Block
from tests.pull.fake_slurm import FakeSlurm

NEEDS = {
    "containers": "docker podman",
    "minutes": "dbt faultline make python python3",
    "network": "curl git pip pip3 pipx uv",
    "nights": "faultline",
    "nodes": "cp health_checks journalctl",
    "programs": "apprise jq mail oauth2-proxy",
    "root": "chown install systemctl useradd",
    "server": "faultline",
    "slurm": "sacct sacctmgr scontrol squeue ssh",
    "ssh": "scp ssh",
}
"""The needs that a mark may name, with the programs that become stubs. `nights` means a home after several nights."""
RUN = {
    "sh": "{}",
    "crontab": "line=$(cat <<'END'\n{}END\n)\neval \"${{line#* * * * * }}\"",
    "python": "python - <<'END'\n{}END",
}
"""The shell code that runs a block, by language. A line of cron has five fields before the command."""
PROGRAMS = (
    "bash cat chmod cp cut date env flock grep gzip head hostname ls mkdir mv openssl rm sed sh sort tail tar touch wc"
)
STUB = """#!/bin/bash
printf '%s\\0' "${0##*/}" "$@" >> "$CALLS"
printf '\\n' >> "$CALLS"
[ -p /dev/stdin ] && cat > /dev/null
if [ "${0##*/} ${1-}" = "faultline refresh" ] && [ -d "$FAULTLINE_HOME" ]; then
    cp --archive --no-clobber "$PREPARED"/{publications,warehouse,reports} "$FAULTLINE_HOME"
fi
"""
FAULTLINE = typer.main.get_group(app)
USAGE_ERROR = typer.BadParameter.__base__
"""From typer's own copy of click, which has no public name."""
ABSOLUTE = re.compile(r"(?<![\w.:/$}~*-])/(?=(?:data|etc|opt|srv|tmp|usr|var)/)")
OF_AN_ENVIRONMENT = re.compile(r"[\w./~-]*\bbin/(?=(?:dbt|faultline|pip|python)\b)")


class Sandbox:
    """A folder in which the blocks of pages run, one after the other.

    Parameters
    ----------
    folder
        The folder. Its `~/faultline` is the checkout.
    home
        A refreshed home. A copy of it is `data`, and the result of refreshes that are only stubs. Without it, the
        folder is a checkout, and only Slurm is a stub.
    """

    def __init__(self, folder: Path, home: Home | None) -> None:
        self.folder, self.calls = folder, folder / ".calls"
        with pytest.MonkeyPatch.context() as patch:
            slurm = FakeSlurm(folder / ".stubs" / "slurm", patch)
        for command, file in (("sacct", "sacct/sacct_all.psv"), ("sacctmgr", "events/events.psv")):
            for days in (29, 30):  # midnight may pass during a test
                day = (datetime.now().astimezone() - timedelta(days=days)).date()
                slurm.answer(command, str(day), (CAPTURE / file).read_text(encoding="utf-8"), part=".whole")
        (folder / "faultline").symlink_to(".")
        self.variables = {"HOME": str(folder), "FAKE_SLURM": str(slurm.folder), "CALLS": str(self.calls)}
        if home is None:
            self.stubs = {"slurm"}
            self.variables = {**os.environ, "PYTHONPATH": "", **self.variables}
            return
        self.stubs = {*NEEDS}
        for part in ("publications", "warehouse", "reports", "sources"):
            shutil.copytree(home.root / part, folder / "data" / part, symlinks=True)
        shutil.copytree(PROJECT / "orchestration" / "deploy", folder / "orchestration" / "deploy")
        for name in (".venv/bin/activate", "etc/faultline/faultline.env", "FOLDER/file"):
            _put(folder / name, "")
        programs = {program: shutil.which(program) for program in PROGRAMS.split()}
        programs |= {program: str(Path(sys.executable).with_name(program)) for program in ("faultline", "python")}
        for program, found in programs.items():
            _put(folder / ".programs" / program, f'#!/bin/sh\nexec {found} "$@"\n')
        for need, stubs in NEEDS.items():
            for program in stubs.split() if need != "slurm" else ():
                _put(folder / ".stubs" / need / "bin" / program, STUB)
        self.variables |= {
            "PATH": str(folder / ".programs"), "PYTHONPATH": str(PROJECT), "LANG": "C.UTF-8", "TOKEN": "secret",
            "FAULTLINE_HOME": str(folder / "data"), "PREPARED": str(home.root),
            "FAULTLINE_ALERT_TITLE": "alpha: new lemon", "FAULTLINE_ALERT_TEXT": "alpha: new lemon",
        }  # fmt: skip

    def run(self, blocks: Sequence[Block]) -> None:
        """Run blocks in one shell, as a reader would, and compare their output with the blocks of output."""
        script = ["set -euo pipefail"]
        for number, block in enumerate(blocks):
            if block.language not in RUN or block.run_by:
                continue
            unknown = set(block.needs) - NEEDS.keys()
            assert not unknown, f"{block.place}: nothing is known of the need {unknown}; name one of {sorted(NEEDS)}"
            stubs = "".join(f"{self.folder}/.stubs/{need}/bin:" for need in block.needs if need in self.stubs)
            script += [
                f"cd {self.folder}; echo {block.place} > .place; exec > .printed.{number} 2>&1",
                f"path=$PATH; PATH={stubs}$PATH",
                self._here(RUN[block.language].format(block.text)),
                "PATH=$path" if stubs else "",
            ]
        self.calls.write_text("")
        done = subprocess.run(
            ["bash", "-c", "\n".join(script)],
            cwd=self.folder,
            env=self.variables,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        place = (self.folder / ".place").read_text().strip()
        printed = self._printed(next(number for number, block in enumerate(blocks) if block.place == place))
        assert done.returncode == 0, (
            f"{place}: the commands fail:\n{printed}\n"
            f"correct them, or say what they need in a line before the block: <!-- needs: {'|'.join(NEEDS)} -->"
        )
        for call in self.calls.read_text().splitlines():
            _check_call(call.rstrip("\0").split("\0"), blocks[0].place.partition(":")[0])
        self._compare(blocks)

    def _compare(self, blocks: Sequence[Block]) -> None:
        """Search the output of the commands for each line of the next block of output, in the same order."""
        of = -1
        for number, block in enumerate(blocks):
            if block.language in RUN:
                of = number
            if not block.is_output or set(blocks[of].needs) & self.stubs - {"slurm"}:
                continue
            printed = self._printed(of)
            rest = iter(printed.splitlines())
            for line in block.text.splitlines():
                wanted = re.compile(r"\s*".join(map(re.escape, line.split())).replace(re.escape("..."), ".*"))
                assert any(wanted.fullmatch(other.strip()) for other in rest), (
                    f"{block.place}: the commands do not print: {line}\nbut:\n{printed}\ncorrect the page"
                )

    def _printed(self, number: int) -> str:
        return (self.folder / f".printed.{number}").read_text(encoding="utf-8")

    def _here(self, text: str) -> str:
        """Return text with absolute paths in the folder, and create the folders in these paths."""
        text = OF_AN_ENVIRONMENT.sub("", text)
        for path in re.findall(rf"{ABSOLUTE.pattern}([\w./-]*)", text):
            place = self.folder / path
            (place if path.endswith("/") else place.parent).mkdir(parents=True, exist_ok=True)
        return ABSOLUTE.sub(f"{self.folder}/", text)


def _put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


def _check_call(words: list[str], page: str) -> None:
    """Check the arguments of a stub against the program that it replaces."""
    program, *rest = words
    if program == "make":
        targets = {word for word in rest if "=" not in word}
        known = re.findall(r"^([\w./%-]+):", (PROJECT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        unknown = {target for target in targets if not any(fnmatch(target, one.replace("%", "*")) for one in known)}
        assert not unknown, f"{page}: make knows no {unknown}"
    if program.startswith("python") and rest[:1] == ["-m"] and rest[1] != "venv":
        assert importlib.util.find_spec(rest[1]), f"{page}: there is no module {rest[1]}"
    if "faultline" in words:
        arguments = words[len(words) - words[::-1].index("faultline") :]
        if re.fullmatch("--version|[a-z-]+", "".join(arguments[:1])):
            check_command(arguments, page)


def check_command(arguments: Iterable[str], page: str, *, is_whole: bool = True) -> None:
    """Fail if Faultline has no such command, option or kind of value. A command that is not whole may lack some."""
    words = list(arguments)
    try:
        with FAULTLINE.make_context("faultline", words.copy()) as context:
            name, command, rest = FAULTLINE.resolve_command(context, words)
            command.make_context(name, rest, parent=context).close()
    except typer.Exit:
        pass
    except USAGE_ERROR as error:
        if not is_whole and str(error).startswith("Missing parameter"):
            return
        raise AssertionError(f"{page}: faultline {' '.join(words)}: {error}; correct the page") from None
