"""Dagster's own storage inside the home: one run at a time, retries, no telemetry, no dialog.

`dagster.yaml` belongs to the user. It is written if it is missing, and replaced while it equals, byte by byte, one that
Faultline wrote before. A changed file is never touched; `faultline doctor` shows the changes.
"""

from __future__ import annotations

import difflib
import hashlib
import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assets.sources.text.masking import mask
from orchestration.settings.environment import given_to_dagster
from orchestration.settings.home import Home
from orchestration.upkeep.healing import Say, heal_run_history, set_aside

if TYPE_CHECKING:
    from dagster import DagsterInstance

SETTINGS = """\
telemetry:
  enabled: false
nux:
  enabled: false
run_storage:
  module: orchestration.history
  class: RunHistory
  config:
    dagster_home:
      env: DAGSTER_HOME
event_log_storage:
  module: orchestration.history
  class: EventHistory
  config:
    dagster_home:
      env: DAGSTER_HOME
concurrency:
  runs:
    max_concurrent_runs: 1
  pools:
    default_limit: 1
    granularity: op
run_retries:
  enabled: true
  max_retries: 2
  retry_on_asset_or_op_failure: false
retention:
  schedule:
    purge_after_days: 90
  sensor:
    purge_after_days:
      skipped: 1
      started: 90
      success: 90
      failure: 90
"""


SHIPPED = frozenset(
    {
        "7ee10405f9b20dd9dd9074ffd7178bb83b5ee287d6688e3f75b1c21bbe4c7dc0",
        "b4f5f19ed60929283d2e639d5d3aafbb3e9dd99ed331bb02a757b3b94f13155a",
        "66fea0cbf2104b4be46ed0cd25099617a0bc3526f58e1cef1bf7feec24a9e2d1",
        "b831d0a2cfa2a6a705f98fcc29f7c60f60b81a7fe92e1e991f3900c1551530e8",
    }
)
"""SHA-256 of every dagster.yaml that Faultline has written, including the current one. None is ever removed."""

MAX_REASON = 400
_SECRET = re.compile(r"(?i)(\b\w*(?:password|passwd|secret|token|url|dsn|conn_string)\w*[\"']?\s*:)\s*\S.*")


_warn = logging.getLogger(__name__).warning


class UnreadableSettings(ValueError):
    """dagster.yaml is not valid YAML; the text says where and what to do."""


def settings_file(home: Home) -> Path:
    """Return the path of a home's dagster.yaml."""
    return home.dagster / "dagster.yaml"


def prepare_storage(home: Home, say: Say = _warn) -> None:
    """Write dagster.yaml if it is missing or Faultline's own; set a damaged history aside.

    Parameters
    ----------
    home
        The home.
    say
        Called with a line for each file that is set aside.

    Raises
    ------
    UnreadableSettings
        The user's dagster.yaml is not valid YAML.
    """
    heal_run_history(home, say)
    home.dagster.mkdir(parents=True, exist_ok=True)
    file = settings_file(home)
    content = file.read_bytes() if file.is_file() else b""
    if not content.strip() or hashlib.sha256(content).hexdigest() in SHIPPED:
        if content != SETTINGS.encode():
            file.write_text(SETTINGS, encoding="utf-8")
    elif b"\0" in content:
        # No editor writes such a file, but a failing disk does.
        say(f"{file} was damaged: it is kept as {set_aside(file).name}, and is written again")
        file.write_text(SETTINGS, encoding="utf-8")
    else:
        parse_settings(file, content)


def parse_settings(file: Path, content: bytes) -> Mapping[str, Any]:
    """Return the content of a dagster.yaml; raise `UnreadableSettings` if it is no mapping."""
    import yaml

    try:
        found = yaml.safe_load(content)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        # The whole message quotes the line, which may hold a password.
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        found, why = None, f"{getattr(error, 'problem', None) or 'it is no text in UTF-8'}{where}"
    else:
        why = "it is no mapping of names to values"
    if not isinstance(found, dict):
        raise UnreadableSettings(
            f"{file} cannot be read: {why}; correct it, or delete it and Faultline writes its own again"
        )
    return found


def changes_of_user(home: Home) -> list[str]:
    """Return a unified diff of dagster.yaml and this version's own; empty if nobody changed it.

    Passwords, addresses with passwords and the like are left out.
    """
    file = settings_file(home)
    content = file.read_bytes() if file.is_file() else b""
    if not content.strip() or hashlib.sha256(content).hexdigest() in SHIPPED:
        return []
    theirs = [_SECRET.sub(r"\1 ...", line) for line in content.decode(errors="replace").splitlines()]
    ours = SETTINGS.splitlines()
    return list(difflib.unified_diff(ours, theirs, "dagster.yaml of Faultline", str(file), lineterm="", n=1))


def losses_by_changes(settings: Mapping[str, Any]) -> list[str]:
    """Return in words what is lost by a user's dagster.yaml compared with Faultline's own."""
    losses = []
    if _at(settings, "telemetry", "enabled") is not False:
        losses.append("Dagster sends its maker data about how it is used")
    if not {"storage", "event_log_storage"} & settings.keys():
        losses.append("each event waits for the disk, which takes 15 s of a refresh")
    runs = _at(settings, "concurrency", "runs", "max_concurrent_runs")
    if (runs if runs is not None else _at(settings, "run_coordinator", "config", "max_concurrent_runs")) != 1:
        losses.append("two runs may start at once, and the second one then fails")
    if _at(settings, "run_retries", "enabled") is not True:
        losses.append("a run whose process died is not started again")
    return losses


def _at(settings: Mapping[str, Any], *path: str) -> Any:
    found: Any = settings
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


@contextmanager
def open_storage(home: Home) -> Iterator[DagsterInstance]:
    """Open the prepared storage, and close it afterwards.

    Raises
    ------
    UnreadableSettings
        The storage in a user's own dagster.yaml cannot be opened: its server is away, or a key is wrong.
    """
    from dagster import DagsterInstance

    try:
        with given_to_dagster(home):
            opened = DagsterInstance.get()
    except Exception as error:
        if not changes_of_user(home):
            raise
        while error.__cause__ is not None:
            error = error.__cause__  # type: ignore[assignment]
        why = mask(" ".join(str(error).split()))[:MAX_REASON]
        raise UnreadableSettings(
            f"{settings_file(home)} names a storage that cannot be opened: {why}; nothing was published; start the"
            " server or correct the file, then run the command again"
        ) from None
    with opened as instance:
        yield instance
