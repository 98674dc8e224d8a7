"""`cluster.toml`: what a site may set for a cluster, with defaults; anything else is refused with what is allowed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import tomllib
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from zoneinfo import ZoneInfo, available_timezones

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from assets.sources.errors import SourceError
from assets.sources.regular import read_small, unreadable
from assets.sources.tickets.components import require_patterns

MAX_SETTINGS_BYTES = 1024 * 1024

MAX_ERRORS, MAX_SHOWN, MAX_EXPLANATION = 20, 100, 400
"""How many errors of a file are told, and how many characters of a wrong key or value and of what is allowed."""

# The bounds lie far above any sensible value, and below what a 32-bit column or a sum of times can hold.
YEAR_SECONDS = 366 * 86_400
FIRST_YEAR, LAST_YEAR = 1970, 2100
Finite = Annotated[float, Field(le=1e9, allow_inf_nan=False)]
Positive = Annotated[Finite, Field(gt=0)]
NotNegative = Annotated[Finite, Field(ge=0)]
Minutes = Annotated[float, Field(ge=0, le=YEAR_SECONDS / 60, allow_inf_nan=False)]
Seconds = Annotated[int, Field(ge=0, le=YEAR_SECONDS)]
Days = Annotated[int, Field(ge=1, le=36_600)]
Name = Annotated[str, Field(max_length=255)]
Text = Annotated[str, Field(max_length=1_000)]
Component = Literal["GPU", "DIMM", "PCIe", "EUD", "BIOS", "NIC", "PSU", "Optics", "CPU", "other"]


def no_quote_or_newline(delimiter: str) -> str:
    """Return the delimiter; refuse one that cannot stand between fields."""
    if set(delimiter) & set('"\r\n\0'):
        raise ValueError("it must not be a double quote, a line break or a zero byte")
    return delimiter


def one_character(delimiter: str) -> str:
    """Return the delimiter; refuse anything but one character that can stand between the cells of a CSV."""
    if len(delimiter) != 1:
        raise ValueError('it must be one character, such as ";" or "\\t"')
    return no_quote_or_newline(delimiter)


def strptime_format(text: str) -> str:
    """Return the format; refuse one that Python's strptime does not understand."""
    try:
        datetime.strptime("", text)
    except re.error as error:
        raise ValueError(f"it must be a format of strptime, each directive once ({error})") from error
    except ValueError as error:
        # Any other message says that the empty text does not fit, as it should not.
        if "bad directive" in str(error) or "stray" in str(error):
            raise ValueError(f'it must be a format of strptime, such as "%d.%m.%Y" ({error})') from error
    return text


def in_known_years(moment: date) -> date:
    """Return the date or moment; refuse one outside the years that logs can have."""
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        raise ValueError(f"it must lie between {FIRST_YEAR} and {LAST_YEAR}")
    return moment


class Section(BaseModel):
    """A table of the file: unknown keys are refused, texts are not turned into numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


FailureCategory = Literal[
    "pcie", "gpu_memory", "gpu_nvlink", "gpu_unavailable", "gpu_driver_firmware", "ib_link", "block_device",
    "filesystem_mount", "main_memory", "host_hardware", "eth_link", "system_services", "nccl_timeout", "oom",
    "user_code",
]  # fmt: skip
"""The causes a failure may have, in the order of the seed `failure_categories`."""


class Attribution(Section):
    """Window around the end of an attempt in which evidence counts, and which category wins."""

    before_seconds: Seconds = 600
    after_seconds: Seconds = 300
    priority: list[FailureCategory] = []


class Runs(Section):
    """How attempts are joined into job runs."""

    chain: bool = True
    chain_gap_seconds: Seconds = 900


class Nodes(Section):
    """How a host name becomes a node of the cluster."""

    aliases: dict[Name, Name] = {}
    strip_suffixes: list[Name] = []


class Ettr(Section):
    """What a checkpoint and a restart cost, in minutes."""

    checkpoint_minutes: Annotated[Minutes, Field(gt=0)] = 60
    restart_minutes: Minutes = 5
    write_minutes: Minutes = 0


LemonSignal = Literal[
    "excl_jobid_count", "xid_cnt", "tickets", "out_count", "multi_node_node_fails", "single_node_node_fails",
    "single_node_node_failure_rate",
]  # fmt: skip
"""The seven signals by the paper's names."""


class Lemons(Section):
    """The days over which nodes are compared, by signals and by failure rate, and a threshold for each signal.

    Without `rate_days` they are as many as a node that fails ten times as often as the fleet takes for five failures.
    """

    window_days: Days = 28
    rate_days: Days | None = None
    thresholds: dict[LemonSignal, NotNegative] = {}


class TicketColumns(Section):
    """Which column of the ticket export means what."""

    ticket_id: Name = "ticket_id"
    node: Name = "node"
    opened: Name = "opened"
    closed: Name = "closed"
    component: Name = "component"
    action: Name = "action"
    status: Name = "status"
    summary: Name = "summary"


class Tickets(Section):
    """How to read ticket exports.

    `date_format` is a strptime format for dates that are not ISO 8601; `components` maps a regular expression of RE2,
    tried in the order written, to a component; `timezone` defaults to the cluster's.
    """

    columns: TicketColumns = TicketColumns()
    delimiter: Annotated[str, AfterValidator(one_character)] | None = None
    date_format: Annotated[Name, AfterValidator(strptime_format)] | None = None
    timezone: str | None = None
    components: dict[Text, Component] = {}

    @model_validator(mode="before")
    @classmethod
    def _gather_columns(cls, given: Any) -> Any:
        """Let column names stand directly under `[tickets]` too."""
        if not isinstance(given, dict):
            return given
        direct = {key: value for key, value in given.items() if key in TicketColumns.model_fields}
        rest = {key: value for key, value in given.items() if key not in direct}
        return {**rest, "columns": {**direct, **rest.get("columns", {})}} if direct else given

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str | None) -> str | None:
        return None if value is None else known_zone(value)

    @field_validator("components")
    @classmethod
    def _valid_patterns(cls, value: dict[str, Component]) -> dict[str, Component]:
        if value:
            require_patterns(value)
        return value


class Sacct(Section):
    """For exports without a header: their columns in order, by sacct's field names."""

    columns: list[Name] = []
    delimiter: Annotated[str, Field(min_length=1, max_length=8), AfterValidator(no_quote_or_newline)] = "|"


class Annotation(Section):
    """A dated note shown beside the figures: driver upgrade, new check."""

    at: Annotated[date, AfterValidator(in_known_years)]
    text: Text


Kind = Literal["sacct", "health", "kernel", "events", "slurmctld", "inventory", "squeue", "tickets"]
"""The folders with a meaning."""
KINDS: tuple[str, ...] = get_args(Kind)


class Span(Section):
    """What the logs of a kind are known to cover, whatever their own times say.

    A date alone is its midnight in the cluster's time zone, as is a time without an offset. Without `to` the logs go on
    until the newest record of accounting.
    """

    model_config = ConfigDict(validate_by_alias=True)

    kind: Kind
    from_: Annotated[date | datetime, Field(alias="from"), AfterValidator(in_known_years)]
    to: Annotated[date | datetime, AfterValidator(in_known_years)] | None = None

    @model_validator(mode="after")
    def _runs_forward(self) -> Span:
        if self.to is not None and in_utc(self.to, "UTC") <= in_utc(self.from_, "UTC"):
            raise ValueError("'to' must lie after 'from'")
        return self


class Quarantine(Section):
    """Share of a file's lines that may be quarantined before the file fails."""

    max_share: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.01


class Report(Section):
    """Whether users, accounts and job names stand in the report; the published tables have them in any case."""

    names: Literal["shown", "hidden"] = "shown"


class Settings(Section):
    """Everything `cluster.toml` may say."""

    timezone: str = "UTC"
    simulated: bool = False
    gpus_per_node: Annotated[int, Field(ge=0, le=10_000)] = 8
    gpu_model: Name | None = None
    price_per_gpu_hour: NotNegative | None = None
    currency: Name | None = None
    attribution: Attribution = Attribution()
    runs: Runs = Runs()
    nodes: Nodes = Nodes()
    ettr: Ettr = Ettr()
    lemons: Lemons = Lemons()
    sacct: Sacct = Sacct()
    tickets: Tickets = Tickets()
    annotations: list[Annotation] = []
    spans: list[Span] = []
    quarantine: Quarantine = Quarantine()
    report: Report = Report()

    @field_validator("annotations", mode="before")
    @classmethod
    def _list_of_notes(cls, given: Any) -> Any:
        """Let notes be written as a table too: `[annotations]` with lines `"2026-01-31" = "driver 550.90"`."""
        if not isinstance(given, dict):
            return given
        return [{"at": date.fromisoformat(day), "text": text} for day, text in given.items()]

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        return known_zone(value)


def in_utc(moment: date | datetime, zone: str) -> datetime:
    """Return a date or a moment as UTC without a zone; what tells no offset is of the given zone.

    >>> in_utc(date(2024, 7, 1), "Europe/Berlin")
    datetime.datetime(2024, 6, 30, 22, 0)
    """
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time())
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=ZoneInfo(zone))
    return moment.astimezone(UTC).replace(tzinfo=None)


def known_zone(name: str) -> str:
    """Return the name if it is an IANA time zone; refuse any other."""
    if name not in available_timezones():
        raise ValueError("it must be an IANA time zone such as UTC, Europe/Berlin or America/Los_Angeles")
    return name


class ClusterSettings(BaseModel):
    """A cluster folder with its settings and where they stand."""

    model_config = ConfigDict(frozen=True)

    cluster_id: str
    settings: Settings = Settings()
    config_path: str | None = None
    config_sha256: str | None = None

    @property
    def reading_hash(self) -> str:
        """Hash of the settings that change how files are read; the others take effect without reading again."""
        parts = self.settings.model_dump(mode="json", include={"timezone", "nodes", "sacct", "tickets"})
        if self.settings.tickets.components:
            # The first pattern that fits wins, so their order matters too.
            parts["tickets"]["components"] = [*self.settings.tickets.components.items()]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def allowed_keys(location: tuple[int | str, ...]) -> list[str]:
    """List the keys that may stand beside the one at `location`."""
    model: type[BaseModel] = Settings
    for part in location[:-1]:
        if isinstance(part, int):
            continue
        annotation: Any = model.model_fields[part].annotation
        if part in ("annotations", "spans"):
            (annotation,) = get_args(annotation)
        if not (isinstance(annotation, type) and issubclass(annotation, BaseModel)):
            return []
        model = annotation
    return sorted(field.alias or name for name, field in model.model_fields.items())


def _explain(path: str, error: ValidationError) -> list[SourceError]:
    errors = []
    for item in error.errors()[:MAX_ERRORS]:
        key = _shortened(".".join(str(part) for part in item["loc"]))
        if item["type"] == "extra_forbidden":
            allowed = ", ".join(allowed_keys(item["loc"]))
            errors.append(SourceError(path, f"unknown key '{key}'", f"Allowed there: {allowed}."))
            continue
        what = item["msg"].removeprefix("Value error, ")[:MAX_EXPLANATION]
        given = item["input"]
        value = _shortened(given.isoformat() if isinstance(given, date) else repr(given))
        errors.append(SourceError(path, f"key '{key}' has the bad value {value}", f"{what[:1].upper()}{what[1:]}."))
    return errors


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def read_settings(folder: Path, cluster_id: str) -> tuple[ClusterSettings, list[SourceError]]:
    """Read a cluster's `cluster.toml`; without one every default holds.

    Returns
    -------
    The settings (the defaults when the file is wrong) and what is wrong.
    """
    file = folder / "cluster.toml"
    shown = f"{cluster_id}/cluster.toml"
    if not os.path.lexists(file):
        return ClusterSettings(cluster_id=cluster_id), []
    try:
        content = read_small(file, MAX_SETTINGS_BYTES)
        document = tomllib.loads(content.decode("utf-8"))
    except OSError as error:
        return ClusterSettings(cluster_id=cluster_id), [unreadable(shown, error)]
    except (ValueError, RecursionError) as error:  # not TOML, not UTF-8, numbers of thousands of digits, deep nesting
        return ClusterSettings(cluster_id=cluster_id), [
            SourceError(shown, f"not valid TOML ({error})", "Correct the file; text values stand in double quotes.")
        ]
    try:
        settings = Settings.model_validate(document)
    except ValidationError as error:
        return ClusterSettings(cluster_id=cluster_id), _explain(shown, error)
    digest = hashlib.sha256(content).hexdigest()
    return ClusterSettings(cluster_id=cluster_id, settings=settings, config_path=shown, config_sha256=digest), []
