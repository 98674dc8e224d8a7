"""The table `[pull]` of `cluster.toml`: where Slurm is, and how to fetch its logs."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, Field

from assets.sources.settings.sections import Section
from assets.sources.settings.values import Days, Finite, SlurmCluster, Text, in_known_years

PulledKind = Literal["sacct", "events", "inventory", "squeue"]
"""The kinds of logs that Slurm's commands print."""
Destination = Annotated[str, Field(max_length=255, pattern=r"^[A-Za-z0-9_\[][^\s\x00-\x1f]*$")]
"""A host or user@host for ssh; it must not begin with a hyphen, as options do."""
Word = Annotated[str, Field(min_length=1, max_length=1_000, pattern=r"^[^\x00-\x1f]+$")]


def regular_expression(pattern: str) -> str:
    """Return the pattern; refuse one that is not a regular expression of Python."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"it must be a regular expression ({error})") from None
    return pattern


class Pull(Section):
    """How `faultline pull` and every refresh fetch the logs from Slurm. Without this table nothing is fetched.

    It is obeyed only if nobody but the user of the home and root may write this file.
    """

    ssh: Destination | None = None
    """Host or user@host on which Slurm's commands run; without it they run on this machine."""
    ssh_options: list[Word] = Field(default_factory=list)
    """Further options of ssh, such as ["-i", "/etc/faultline/key"]. ssh never prompts for a password."""
    prefix: list[Word] = Field(default_factory=list)
    """Words to put before each command on that host, such as ["sudo", "-n", "-u", "slurm"]."""
    bin: Word | None = None
    """Folder of Slurm's commands on that host, if they are not on its PATH."""
    slurm_cluster: SlurmCluster | None = None
    """Slurm's name of the cluster, if the commands run on a host of another cluster (-M)."""
    kinds: list[PulledKind] = Field(default_factory=lambda: list(get_args(PulledKind)))
    """What is fetched."""
    since: Annotated[date, AfterValidator(in_known_years)] | None = None
    """The first day to fetch. Days are in UTC."""
    first_days: Days = 90
    """How many days before the first pull the first day is, if `since` is not set."""
    look_back_days: Annotated[int, Field(ge=0, le=366)] = 3
    """How many days before today are queried again at each pull, for records that Slurm wrote late."""
    timeout_seconds: Annotated[Finite, Field(gt=0, le=86_400)] = 600
    """How long one query may take."""
    harmless_errors: list[Annotated[Text, AfterValidator(regular_expression)]] = Field(default_factory=list)
    """Regular expressions of Python for error lines that the site's commands print although the output is complete."""
