"""The settings of a process, read once from its environment, and the environments of other programs.

`os.environ` is read and changed only here and in dbt's own process (orchestration/dbt/command.py), as a test checks.
The module imports nothing heavy, so that `faultline query` answers at once.
"""

from __future__ import annotations

import atexit
import gc
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from string import ascii_letters
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from orchestration.settings.home import Home

HOME = "FAULTLINE_HOME"
SOURCES = "FAULTLINE_SOURCES"
MEMORY = "FAULTLINE_MEMORY"
THREADS = "FAULTLINE_THREADS"
SCHEDULE = "FAULTLINE_SCHEDULE"
TIMEZONE = "FAULTLINE_TIMEZONE"
PRIVACY_KEY_FILE = "FAULTLINE_PRIVACY_KEY_FILE"
KEEP_PUBLICATIONS = "FAULTLINE_KEEP_PUBLICATIONS"
PUBLISH_GROUP = "FAULTLINE_PUBLISH_GROUP"
FRESHNESS_HOURS = "FAULTLINE_FRESHNESS_HOURS"
METRICS_FILE = "FAULTLINE_METRICS_FILE"
ALERT_WEBHOOK = "FAULTLINE_ALERT_WEBHOOK"
ALERT_COMMAND = "FAULTLINE_ALERT_COMMAND"
LINEAGE = "FAULTLINE_OPENLINEAGE"
LINEAGE_KEY_FILE = "FAULTLINE_OPENLINEAGE_KEY_FILE"
DAGSTER_DEV = "DAGSTER_IS_DEV_CLI"
"""Set by `dagster dev` and `dg dev` for their child processes."""
UI_TOKEN = "FAULTLINE_UI_TOKEN"  # noqa: S105 -- the name of a variable
SETTINGS = (
    *(HOME, SOURCES, MEMORY, THREADS, SCHEDULE, TIMEZONE, PRIVACY_KEY_FILE, KEEP_PUBLICATIONS, FRESHNESS_HOURS),
    *(PUBLISH_GROUP, UI_TOKEN, METRICS_FILE, ALERT_WEBHOOK, ALERT_COMMAND, LINEAGE, LINEAGE_KEY_FILE),
)
"""Every variable that a user sets."""
MAIL = (
    *("FAULTLINE_ALERT_EMAIL", "FAULTLINE_SMTP", "FAULTLINE_SMTP_FROM"),
    *("FAULTLINE_SMTP_PASSWORD", "FAULTLINE_SMTP_PASSWORD_FILE"),
)
REMOVED = {
    "FAULTLINE_KEEP_RUNS_DAYS": "Dagster's pages keep a run for 90 days",
    "FAULTLINE_WATCH_MINUTES": "switch the sensor new_files on at its page in the web UI",
    "FAULTLINE_OWNERS": "assets have no owners",
    "FAULTLINE_ALERT_ON": "alerts of every kind are sent; an alert command is given the kind",
    "FAULTLINE_ALERT_WEBHOOK_FILE": f"set {ALERT_WEBHOOK} to the address in that file",
    **dict.fromkeys(MAIL, f"set {ALERT_COMMAND} to a program that sends mail (docs/alerts.md)"),
}
"""Removed variables, and their replacements."""
DAGSTER_HOME = "DAGSTER_HOME"
WAREHOUSE = "FAULTLINE_WAREHOUSE"
PUBLICATION = "FAULTLINE_PUBLICATION"
"""This and the one above are the two files in dbt's profile."""
ALERT_TITLE, ALERT_TEXT = "FAULTLINE_ALERT_TITLE", "FAULTLINE_ALERT_TEXT"
"""Variables for the program of an alert, in addition to the JSON on its input."""
MAX_ALERT_TEXT = 30_000
"""Linux allows 131,072 bytes for a variable with its value, and a character in UTF-8 has up to four."""
CACHE = "XDG_CACHE_HOME"
DBT_TARGET = "DBT_TARGET"
"""The target of dbt's profile that a refresh builds."""
PARSED = "DBT_TARGET_PATH"
"""Where dagster-dbt looks for a parsed project, so that a new home does not parse it."""

_MEMORY = re.compile(
    r"(?=.*[1-9])([0-9]+\.?[0-9]*|\.[0-9]+) ?(b|bytes?|[kmgt](i?b)?|(kilo|mega|giga|tera)bytes?)", re.I
)
_CRON_FIELD = re.compile(r"[0-9A-Za-z*,/#-]+")
_CRON_HIGHEST = (59, 23, 31, 12, 7)
_INTERNAL = re.compile(
    r"FAULTLINE_(WAREHOUSE|PUBLICATION|ALERT_TITLE|ALERT_TEXT|RAW|SPARK\w*|POSTGRES_\w+"
    r"|TEST_\w+|FAULTS|STUDIES_DATA|SLURM_TESTBED)"
)
"""Variables that Faultline sets for its child processes, and those of Spark, of the containers and of tests."""


class WrongSetting(ValueError):
    """An environment variable has a value that is not allowed; the text says which, and what is allowed."""


def _count_cores() -> int:
    return len(os.sched_getaffinity(0))


def _privacy_key_file() -> Path:
    named = os.environ.get(PRIVACY_KEY_FILE)
    if named:
        return Path(named).expanduser()
    configuration = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(configuration).expanduser() / "faultline" / "privacy.key"


@dataclass(frozen=True)
class LineageSettings:
    """Where OpenLineage events of a refresh go: to an address, with the key in a file, or to a file."""

    address: str | None = field(default=None, repr=False)
    key_file: Path | None = None
    file: Path | None = None

    @property
    def is_set(self) -> bool:
        """Return whether events go anywhere."""
        return self.address is not None or self.file is not None


@dataclass(frozen=True)
class HomeSettings:
    """The home, and everything else that a user can set; made once when a process starts, and passed on.

    Attributes
    ----------
    home
        The paths of the home.
    is_full
        Read every file again and rebuild all.
    is_pulling
        Fetch the logs of clusters with `[pull]` first.
    is_dev
        Whether `dagster dev` or `dg dev` shows the project: schedule and sensors are then off.
    is_from_marts
        Make estimates, report and publication from the present marts, which another engine may have built.
    memory_limit
        DuckDB's limit. DuckDB spills what needs more to disk; with the default, a refresh including Python stays below
        4 GiB.
    threads
        Number of DuckDB's threads.
    schedule, schedule_timezone
        When the nightly refresh starts: a cron line and its IANA zone.
    keep_publications
        How many publications are kept.
    publish_group
        A group that may read publications, in addition to the owner of the home.
    freshness_hours
        A home is stale if its newest publication is older than this.
    alert_webhook, alert_command
        Where alerts go: an address and the words of a program; both may hold secrets.
    metrics_file
        Where refreshes and rollbacks write the metrics. None: in the home.
    lineage
        Where OpenLineage events go, if anywhere.
    privacy_key
        The file with the key of pseudonyms, outside the home.
    """

    home: Home
    is_full: bool = False
    is_pulling: bool = True
    is_from_marts: bool = False
    is_dev: bool = False
    memory_limit: str = "2GB"
    threads: int = field(default_factory=_count_cores)
    schedule: str = "0 2 * * *"
    schedule_timezone: str = "UTC"
    keep_publications: int = 3
    publish_group: str | None = None
    freshness_hours: int = 36
    alert_webhook: str | None = field(default=None, repr=False)
    alert_command: tuple[str, ...] = field(default=(), repr=False)
    metrics_file: Path | None = None
    lineage: LineageSettings = field(default_factory=LineageSettings)
    privacy_key: Path = field(default_factory=_privacy_key_file)


def is_home_set() -> bool:
    """Return whether the environment names a home."""
    return bool(os.environ.get(HOME))


def read_settings(home: Path | None = None, sources: Path | None = None, is_full: bool = False) -> HomeSettings:
    """Return the settings from the environment of this process; options of a command come first.

    Parameters
    ----------
    home
        The home folder; by default FAULTLINE_HOME, else `data` in the current folder.
    sources
        Folder of the logs; by default FAULTLINE_SOURCES where `home` is not given, else `sources` in the home.
    is_full
        Read every file again and rebuild all.

    Raises
    ------
    WrongSetting
        A variable has a value that is not allowed, or is a removed setting for mail.
    """
    if home is None:
        home = Path(os.environ.get(HOME) or "data")
        if sources is None and os.environ.get(SOURCES):
            sources = Path(os.environ[SOURCES])
    defaults = HomeSettings(Home.at(home, sources))
    if "?" in str(defaults.home.root):
        # DuckDB writes its journal next to the path before the question mark, and SQLAlchemy opens that path.
        raise WrongSetting(
            f"the home {defaults.home.root} has a question mark in its path, which DuckDB takes for the beginning of"
            f" options; rename the folder, or name another one with --home or {HOME}"
        )
    for name in MAIL:
        if os.environ.get(name, "").strip():
            raise WrongSetting(_why_removed(name))
    return HomeSettings(
        home=defaults.home,
        is_full=is_full,
        is_dev=bool(os.environ.get(DAGSTER_DEV)),
        memory_limit=_read_memory(defaults.memory_limit),
        threads=_read_count(THREADS, defaults.threads),
        schedule=_read_schedule(defaults.schedule),
        schedule_timezone=_read_timezone(defaults.schedule_timezone),
        keep_publications=_read_count(KEEP_PUBLICATIONS, defaults.keep_publications),
        publish_group=os.environ.get(PUBLISH_GROUP) or None,
        freshness_hours=_read_count(FRESHNESS_HOURS, defaults.freshness_hours),
        alert_webhook=_read_webhook(),
        alert_command=_read_command(),
        metrics_file=Path(os.environ[METRICS_FILE]).absolute() if os.environ.get(METRICS_FILE) else None,
        lineage=_read_lineage(),
    )


def warnings_of_environment() -> list[str]:
    """Return a warning for each variable that looks like a setting and is none, with its replacement."""
    return [
        _why_removed(name) if name in REMOVED else f"{name} is no setting; docs/configuration.md has all of them"
        for name, value in sorted(os.environ.items())
        if value and name.startswith("FAULTLINE_") and name not in SETTINGS and not _INTERNAL.fullmatch(name)
    ]


def _why_removed(name: str) -> str:
    return f"{name} is not read any more: {REMOVED[name]}; unset it"


def _read_lineage() -> LineageSettings:
    """Return where events go: to an address, or to a file."""
    where = os.environ.get(LINEAGE, "").strip()
    key = os.environ.get(LINEAGE_KEY_FILE, "").strip()
    if "://" not in where:
        return LineageSettings(file=Path(where).absolute() if where else None)
    if not is_web_address(where):
        raise WrongSetting(
            f"{LINEAGE} is a file, or an address that begins with https:// or http://; correct it or unset it"
        )
    return LineageSettings(where, Path(key).expanduser() if key else None)


def _read_webhook() -> str | None:
    address = os.environ.get(ALERT_WEBHOOK, "").strip()
    if address and not is_web_address(address):
        raise WrongSetting(
            f"{ALERT_WEBHOOK} is no address that begins with https:// or http://; correct it or unset it"
        )
    return address or None


def _read_command() -> tuple[str, ...]:
    try:
        return tuple(shlex.split(os.environ.get(ALERT_COMMAND, "")))
    except ValueError as error:
        raise WrongSetting(
            f"{ALERT_COMMAND} cannot be split into words ({error}); correct its quotes or unset it"
        ) from None


def is_web_address(text: str) -> bool:
    """Return whether a text is an http or https address."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname)


def _read_memory(default: str) -> str:
    """Return an amount of memory in DuckDB's format; a negative one is refused, because DuckDB reads it as no limit."""
    text = os.environ.get(MEMORY) or default
    if not _MEMORY.fullmatch(text.strip()):
        raise WrongSetting(f"{MEMORY} is an amount of memory such as 2GB, not {text!r}; correct it or unset it")
    return text


def bytes_of(memory: str) -> int:
    """Return the bytes of an amount of memory that `read_settings` has accepted.

    >>> bytes_of("2GB"), bytes_of("1.5 KiB"), bytes_of("7bytes")
    (2000000000, 1536, 7)
    """
    number, unit = memory.rstrip(ascii_letters + " "), memory.strip().lower().lstrip("0123456789. ")
    return int(float(number) * (1024 if unit[1:] == "ib" else 1000) ** "bkmgt".index(unit[0]))


def _read_schedule(default: str) -> str:
    """Return a cron line, or a name such as @daily."""
    text = os.environ.get(SCHEDULE) or default
    fields = text.split()
    is_cron = len(fields) == len(_CRON_HIGHEST) and all(
        _CRON_FIELD.fullmatch(field) and all(int(number) <= highest for number in re.findall(r"\d+", field))
        for field, highest in zip(fields, _CRON_HIGHEST, strict=True)
    )
    if not is_cron and not re.fullmatch(r"@[a-z]+", text):
        raise WrongSetting(f"{SCHEDULE} is a cron line such as '0 2 * * *', not {text!r}; correct it or unset it")
    return text


def _read_timezone(default: str) -> str:
    name = os.environ.get(TIMEZONE) or default
    try:
        ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError):
        raise WrongSetting(
            f"{TIMEZONE} is an IANA time zone such as Europe/Berlin, not {name!r}; correct it or unset it"
        ) from None
    return name


def _read_count(name: str, default: int) -> int:
    """Return a whole number of at least 1."""
    text = os.environ.get(name) or str(default)
    if not text.isdecimal() or int(text) < 1:
        raise WrongSetting(f"{name} is a whole number of at least 1, not {text!r}; correct it or unset it")
    return int(text)


def user_cache_folder() -> Path:
    """Return the user's cache folder, by the XDG base directory specification, which ignores relative paths."""
    named = Path(os.environ.get(CACHE) or "")
    return named if named.is_absolute() else Path("~/.cache").expanduser()


def take_ui_token() -> str:
    """Return the token or an empty text, and remove the variable, which child processes do not need."""
    return os.environ.pop(UI_TOKEN, "").strip()


def environment_of_dagster(settings: HomeSettings) -> dict[str, str]:
    """Return the environment of Dagster's own processes, which read the home's settings from it."""
    return {
        **os.environ,
        HOME: str(settings.home.root),
        PRIVACY_KEY_FILE: str(settings.privacy_key),
        SOURCES: str(settings.home.sources),
        DAGSTER_HOME: str(settings.home.dagster),
        "DO_NOT_TRACK": "1",
    }


def environment_of_alert_command(title: str, text: str) -> dict[str, str]:
    """Return the environment of an alert's program, with title and text cut to Linux's limit."""
    return {**os.environ, ALERT_TITLE: title[:MAX_ALERT_TEXT], ALERT_TEXT: text[:MAX_ALERT_TEXT]}


def environment_of_dbt(settings: HomeSettings) -> dict[str, str]:
    """Return the environment of dbt; its profile reads the files and limits from it."""
    return {**os.environ, **_variables_of_profile(settings)}


def given_to_dbt(settings: HomeSettings, parsed: Path) -> AbstractContextManager[None]:
    """Set the variables of dbt's profile in the environment of this process while the block runs.

    dagster-dbt always copies the environment of this process for the dbt that it starts. If it makes an adapter in this
    process, the adapter reads the same profile.

    Parameters
    ----------
    settings
        The files and limits.
    parsed
        Folder of the parsed project.
    """
    return _set_for_a_while(_variables_of_profile(settings) | {PARSED: str(parsed)})


def given_to_dagster(home: Home) -> AbstractContextManager[None]:
    """Set the folder of Dagster's storage while the block runs: Dagster reads it only from the environment."""
    return _set_for_a_while({DAGSTER_HOME: str(home.dagster)})


@contextmanager
def _set_for_a_while(variables: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _variables_of_profile(settings: HomeSettings) -> dict[str, str]:
    return {
        WAREHOUSE: str(settings.home.working_file),
        PUBLICATION: str(settings.home.build_file),
        DBT_TARGET: "local",
        MEMORY: settings.memory_limit,
        THREADS: str(settings.threads),
        "DO_NOT_TRACK": "1",
    }


def collect_garbage_seldom() -> None:
    """Collect circular garbage after two million new objects instead of 700, and never when the process ends.

    Loading Dagster, dbt and Great Expectations makes millions of objects that stay. With nearly no data, scanning them
    repeatedly took 6% of a refresh, and scanning them once more at the end of each of the two processes took 10%. dbt
    leaves circular garbage after every model, 125 MB in all; freeing it took another 10%.
    """
    gc.set_threshold(2_000_000)
    atexit.register(gc.freeze)
