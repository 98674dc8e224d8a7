"""Small scripts that stand in for Slurm's commands: they log each call and print prepared answers.

An answer belongs to a command and a day. It may have text for stderr, an exit status, the whole answer with its header,
and shell code that runs first. Without a prepared answer, a command prints only a header.
"""

from __future__ import annotations

import os
import re
from datetime import UTC, date, datetime
from pathlib import Path

from orchestration.pull.queries import SACCT_FIELDS

LOG = 'printf \'%s\\0\' "${0##*/}" "$@" >> "$FAKE_SLURM/calls"\nprintf \'\\n\' >> "$FAKE_SLURM/calls"\n'
SCRIPT = r"""
name=${0##*/} day=answer fields='' before=''
for word in "$@"; do
  case $before in -S) day=${word%%T*};; -o) fields=$word;; -j) day=jobs;; esac
  case $word in start=*) day=${word#start=}; day=${day%%T*};; format=*) fields=${word#format=};; esac
  [ "$word" = --helpformat ] && day=helpformat
  before=$word
done
answer=$FAKE_SLURM/$name/$day
[ -e "$answer.run" ] && . "$answer.run"
[ -e "$answer.stderr" ] && cat "$answer.stderr" >&2
if [ -e "$answer.whole" ]; then cat "$answer.whole"; else
  case $name in
    sacct) [ $day = helpformat ] || printf '%s\n' "${fields//,/$'\037'}";;
    sacctmgr) printf '%s\n' "${fields//,/|}";;
  esac
  [ -e "$answer" ] && cat "$answer"
fi
[ -e "$answer.status" ] && exit $(cat "$answer.status")
exit 0
"""
SSH = '[ -e "$FAKE_SLURM/ssh.run" ] && . "$FAKE_SLURM/ssh.run"\nexec bash -c "${*: -1}"\n'


def epoch(text: str) -> str:
    """Return the seconds since 1970 of a time in UTC."""
    return str(int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()))


class FakeSlurm:
    """A folder of prepared answers, with the commands on the PATH."""

    def __init__(self, folder: Path, monkeypatch) -> None:
        self.folder = folder
        self.program("ssh", f"{LOG}{SSH}")
        for name in ("sacct", "sacctmgr", "scontrol", "squeue"):
            (folder / name).mkdir()
            self.program(name, f"{LOG}{SCRIPT}")
        monkeypatch.setenv("FAKE_SLURM", str(folder))
        monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}")
        self.answer("sacct", "helpformat", " ".join(SACCT_FIELDS) + "\n")
        self.answer("scontrol", "answer", "NodeName=n1 CPUTot=64 State=IDLE Gres=gpu:8\n")

    def program(self, name: str, text: str) -> None:
        """Put a program on the PATH."""
        path = self.folder / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/bash\n{text}")
        path.chmod(0o755)

    def answer(self, command: str, day: str, text: str, *, part: str = "", stderr: str = "", status: int = 0) -> None:
        """Prepare the records of an answer and how the command ends; `.whole` has the header, `.run` runs first."""
        for suffix, content in ((part, text), (".stderr", stderr), (".status", str(status))):
            (self.folder / command / f"{day}{suffix}").write_text(content)

    def jobs(self, day: str, *jobs: str) -> None:
        """Prepare the accounting of a day; jobs as `job` gives them."""
        self.answer("sacct", day, "".join(jobs))

    @staticmethod
    def job(number: int, state: str, start: str, end: str | None = None, *, lacking: str = "", **more: str) -> str:
        """Return a record of accounting without the fields that an old version lacks."""
        times = dict.fromkeys(("Submit", "Eligible", "Start"), epoch(start))
        values = {
            "JobIDRaw": str(number), "JobID": str(number), "Cluster": "c1", "User": "alice", "State": state, **times,
            "End": epoch(end) if end else "Unknown", "NodeList": "n1", "JobName": "train", "NNodes": "1",
            "AllocTRES": "gres/gpu=8",
        } | more  # fmt: skip
        return "\x1f".join(values.get(field, "") for field in SACCT_FIELDS if field not in lacking.split()) + "\n"

    @property
    def calls(self) -> list[list[str]]:
        """The commands that ran since the last look, in their order, each with its words."""
        file = self.folder / "calls"
        lines = file.read_text().split("\n")[:-1] if file.exists() else []
        file.unlink(missing_ok=True)
        return [line.rstrip("\0").split("\0") for line in lines]


def days(calls: list[list[str]], command: str = "sacct") -> list[date]:
    """Return the queried days of a command, in their order."""
    marks = [" ".join(words) for name, *words in calls if name == command and "-j" not in words]
    return [date.fromisoformat(start[:10]) for mark in marks for start in re.findall(r"(?:-S |start=)(\S+)", mark)]
