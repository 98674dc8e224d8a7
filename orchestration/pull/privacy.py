"""Whether the user who asks sees all jobs: with PrivateData=jobs, `sacct -a` silently leaves out those of others."""

from __future__ import annotations

import re
from collections.abc import Callable

from orchestration.pull.failures import HostUnreachable, PullFailed
from orchestration.pull.queries import SHOW_CONFIGURATION, WHO_ASKS, level_of

Ask = Callable[[tuple[str, ...]], str]
"""Runs a command and returns what it prints."""
_PRIVATE = re.compile(r"^PrivateData\s*=\s*(\S+)", re.M)
_SLURM_USER = re.compile(r"^SlurmUser\s*=\s*([^\s(]+)", re.M)


def hidden_jobs(ask: Ask) -> PullFailed | None:
    """Say that the jobs of other users are hidden from the user who asks; None if they are not, or nobody can tell.

    Raises
    ------
    HostUnreachable
        Slurm's host cannot be reached.
    """
    try:
        configuration = ask(SHOW_CONFIGURATION)
        private = {word for found in _PRIVATE.findall(configuration) for word in found.lower().split(",")}
        if not private & {"jobs", "all"}:
            return None
        user = ask(WHO_ASKS).strip()
        if user in {"root", *_SLURM_USER.findall(configuration)}:
            return None
        level = ask(level_of(user)).strip()
    except HostUnreachable:
        raise
    except PullFailed:
        return None
    if level.lower() in {"operator", "administrator"}:
        return None
    return PullFailed(
        f"PrivateData hides the jobs of other users from {user}: most of the accounting is missing",
        f"sacctmgr modify user {user} set AdminLevel=Operator, then faultline pull --again",
    )
