"""Whether a `cluster.toml` may run programs and send anything: only if nobody but this user and root can write it.

Settings that only affect how logs are read apply whoever wrote them.
"""

from __future__ import annotations

import os
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from assets.sources.links import user_name

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True)
class Untrusted:
    """Why a file or its table `[pull]` is ignored, and what to do about it."""

    what: str
    next_step: str


def distrust(file: Path, status: os.stat_result) -> Untrusted | None:
    """Return who else could have written a file; None if nobody could.

    Parameters
    ----------
    file
        Its path. The folder of the path counts and, if a link leads elsewhere, the folder there.
    status
        Status of the open file, so that a file that replaces it does not count.
    """
    folders = dict.fromkeys((file.parent, file.resolve().parent))
    reasons, commands = [], []
    for path, found in ((file, status), *((folder, folder.stat()) for folder in folders)):
        quoted = shlex.quote(str(path.resolve()))
        if found.st_uid not in {0, os.geteuid()}:
            reasons.append(f"{path} belongs to {user_name(found.st_uid)}")
            commands.append(f"chown {user_name(os.geteuid())} {quoted}")
        if found.st_mode & _OTHERS_MAY_WRITE:
            reasons.append(f"others may write {path} (mode {stat.S_IMODE(found.st_mode):04o})")
            commands.append(f"chmod go-w {quoted}")
    if not reasons:
        return None
    rule = f"it runs programs and sends only if nobody but {user_name(os.geteuid())} and root may write it"
    return Untrusted(f"{' and '.join(reasons)}; {rule}", f"look at what it says, then run: {' && '.join(commands)}")
