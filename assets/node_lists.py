"""Node names written as Slurm's node lists, for commands that people paste.

`assets.sources.text.nodelists` reads such lists.
"""

from __future__ import annotations

import re
from itertools import groupby

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]*")


def fold(names: list[str]) -> str:
    """Return node names as Slurm writes them: one bracket per prefix and number width, ranges with a dash.

    Names that continue after the number are written out, as not every release of Slurm reads them in brackets.

    >>> fold(["gpu009", "gpu010", "gpu003", "login", "gpu011"])
    'gpu[003,009-011],login'
    """
    parts = {name: re.fullmatch(r"(.*?)(\d+)", name) for name in names}
    written = [name for name, part in parts.items() if part is None]
    numbered = sorted((part[1], len(part[2]), int(part[2])) for part in parts.values() if part)
    for (prefix, width), members in groupby(numbered, key=lambda member: member[:2]):
        numbers = [member[2] for member in members]
        runs = [[number for _, number in run] for _, run in groupby(enumerate(numbers), lambda pair: pair[1] - pair[0])]
        spans = [f"{run[0]:0{width}}" + (f"-{run[-1]:0{width}}" if len(run) > 1 else "") for run in runs]
        written.append(f"{prefix}{spans[0]}" if len(numbers) == 1 else f"{prefix}[{','.join(spans)}]")
    return ",".join(sorted(written))


def safe_names(names: list[str]) -> list[str]:
    """Return the names without those that a shell or Slurm would read as something else.

    >>> safe_names(["gpu009", "-x", "$(reboot)"])
    ['gpu009']
    """
    return [name for name in names if _SAFE_NAME.fullmatch(name)]


def exclude_option(names: list[str]) -> str | None:
    """Return the option that keeps a job off these nodes; None if no name is safe on a command line.

    >>> exclude_option(["gpu009", "gpu010", "-x"])
    '--exclude=gpu[009-010]'
    """
    usable = safe_names(names)
    return f"--exclude={fold(usable)}" if usable else None
