"""Small scripts that stand in for Slurm's commands: they log each call and print prepared answers.

An answer belongs to a command and a day. Beside it may stand what the command writes to stderr, its exit status, and
shell code that runs first. What is not prepared is an empty answer with a header.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path

from assets.log_kinds import EVENT_COLUMNS
from orchestration.pull.queries import SACCT_FIELDS

SCRIPT = r"""#!/bin/bash
name=${0##*/}
printf '%s\0' "$name" "$@" >> "$FAKE_SLURM/calls"
printf '\n' >> "$FAKE_SLURM/calls"
day=answer fields='' before=''
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
SSH = r"""#!/bin/bash
printf '%s\0' ssh "$@" >> "$FAKE_SLURM/calls"
printf '\n' >> "$FAKE_SLURM/calls"
[ -e "$FAKE_SLURM/ssh.run" ] && . "$FAKE_SLURM/ssh.run"
exec bash -c "${*: -1}"
"""


def epoch(text: str) -> int:
    """Give the seconds since 1970 of a time in UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())


class FakeSlurm:
    """A folder of prepared answers, with the commands on the PATH.

    Parameters
    ----------
    folder
        Where to make it.
    monkeypatch
        Sets the PATH.
    """

    def __init__(self, folder: Path, monkeypatch) -> None:
        self.folder = folder
        programs = folder / "bin"
        programs.mkdir(parents=True)
        for name in ("sacct", "sacctmgr", "scontrol", "squeue"):
            (folder / name).mkdir()
            self._program(programs / name, SCRIPT)
        self._program(programs / "ssh", SSH)
        monkeypatch.setenv("FAKE_SLURM", str(folder))
        monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        self.fields(SACCT_FIELDS)
        self.answer("scontrol", "answer", "NodeName=n1 CPUTot=64 State=IDLE Gres=gpu:8\n")

    @staticmethod
    def _program(path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def fields(self, names: Sequence[str]) -> None:
        """Let sacct know these fields and no others."""
        self.answer("sacct", "helpformat", " ".join(names) + "\n")
        self._names = tuple(names)

    def answer(self, command: str, day: str, text: str, *, stderr: str = "", status: int = 0) -> None:
        """Prepare the records of an answer."""
        file = self.folder / command / day
        file.write_text(text)
        for suffix, content in ((".stderr", stderr), (".status", str(status) if status else "")):
            target = file.with_name(f"{day}{suffix}")
            target.write_text(content) if content else target.unlink(missing_ok=True)

    def whole_answer(self, command: str, day: str, text: str) -> None:
        """Prepare an answer from its first byte, header included."""
        (self.folder / command / f"{day}.whole").write_text(text)

    def run_first(self, command: str, day: str, shell: str) -> None:
        """Let a command run shell code before it answers."""
        (self.folder / command / f"{day}.run").write_text(shell)

    def jobs(self, day: str, *jobs: str) -> None:
        """Prepare the accounting of a day; jobs as `job` gives them."""
        self.answer("sacct", day, "".join(jobs))

    def job(self, number: int, state: str, start: str, end: str | None = None, **more: str) -> str:
        """Give a record of accounting with the known fields."""
        submitted_at = str(epoch(start))
        values = {
            "JobIDRaw": str(number), "JobID": str(number), "Cluster": "c1", "User": "alice", "State": state,
            "Submit": submitted_at, "Eligible": submitted_at, "Start": submitted_at,
            "End": str(epoch(end)) if end else "Unknown", "NodeList": "n1", "JobName": "train", "NNodes": "1",
            "AllocTRES": "gres/gpu=8",
        } | more  # fmt: skip
        known = {name.lower() for name in self._names}
        fields = [field for field in SACCT_FIELDS if field.lower() in known]
        return "\x1f".join(values.get(field, "") for field in fields) + "\n"

    def event(self, node: str, start: str, end: str | None = None) -> str:
        """Give a row of `sacctmgr show event`."""
        values = {"Cluster": "c1", "NodeName": node, "TimeStart": str(epoch(start)), "State": "DOWN", "Reason": "Xid"}
        values["TimeEnd"] = str(epoch(end)) if end else "Unknown"
        return "|".join(values.get(column, "") for column in EVENT_COLUMNS) + "\n"

    @property
    def calls(self) -> list[list[str]]:
        """The commands that ran, in their order, each with its words."""
        file = self.folder / "calls"
        if not file.exists():
            return []
        return [line.rstrip("\0").split("\0") for line in file.read_text().split("\n") if line]

    def forget_calls(self) -> None:
        """Begin a new list of calls."""
        (self.folder / "calls").unlink(missing_ok=True)

    def days(self, command: str = "sacct") -> list[date]:
        """Give the days that a command was asked for, in their order."""
        found = []
        for name, *words in self.calls:
            if name != command:
                continue
            starts = [word.removeprefix("start=") for word in words if word.startswith("start=")]
            starts += [words[place + 1] for place, word in enumerate(words) if word == "-S" and "-j" not in words]
            found += [date.fromisoformat(start[:10]) for start in starts]
        return found
