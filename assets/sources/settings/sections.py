"""The sections of `cluster.toml`: a class for each table of the file, and the meaning of each key below it."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator

from assets.sources.settings.values import (
    Days,
    Minutes,
    Name,
    NotNegative,
    Seconds,
    Share,
    Text,
    TimeZone,
    in_known_years,
    in_utc,
    no_quote_or_newline,
    one_character,
    strptime_format,
    web_address,
)
from assets.sources.text.patterns import require_group, require_patterns

PlacePattern = Annotated[Text, AfterValidator(require_group)]


class Section(BaseModel):
    """A table of the file: unknown keys are refused, texts are not turned into numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


def _require_order(from_: date | datetime, to: date | datetime | None) -> None:
    """Refuse an interval that ends before it begins."""
    if to is not None and in_utc(to, "UTC") <= in_utc(from_, "UTC"):
        raise ValueError("'to' must lie after 'from'")


FailureCategory = Literal[
    "pcie", "gpu_memory", "gpu_nvlink", "gpu_unavailable", "gpu_driver_firmware", "ib_link", "block_device",
    "filesystem_mount", "main_memory", "host_hardware", "eth_link", "system_services", "nccl_timeout", "oom",
    "user_code",
]  # fmt: skip
"""The possible causes of a failure, in the order of the seed `failure_categories`."""


class Attribution(Section):
    """Which events near the end of an attempt are evidence of its cause, and which cause wins."""

    before_seconds: Seconds = 600
    """An event this long before the end of an attempt is still evidence. A node that dies is declared dead after
    Slurm's SlurmdTimeout, so this must be longer than SlurmdTimeout."""
    after_seconds: Seconds = 300
    """An event this long after the end of an attempt is still evidence."""
    priority: list[FailureCategory] = []
    """Causes, in order, that win over all others if an attempt has evidence of several, however likely the others are.
    Among causes that are not listed, the likeliest wins, on any node: its check keeps failing, and it is closest to the
    end. Symptoms of one node within minutes of each other are equally likely; of these, the first in the order of the
    allowed values wins."""


class Runs(Section):
    """How attempts are joined into job runs: requeues always, jobs with the same name and size if `chain` is true."""

    chain: bool = True
    """Whether jobs of one user with the same name and size that follow each other are one job run."""
    chain_gap_seconds: Seconds = 900
    """The longest time between the end of a job and the submission of the next job of the same run; 0 means within the
    same second."""


class Nodes(Section):
    """How a host name in a log becomes a node of the cluster. Case and domain need no setting."""

    aliases: dict[Name, Name] = {}
    """Node name by the host name that a log uses for it."""
    strip_suffixes: list[Name] = []
    """Endings of host names that are not part of the node's name, such as the name of an interface."""


class Availability(Section):
    """What the site has promised its users."""

    objective: Annotated[Share, Field(gt=0, lt=1)] | None = None
    """Share of the node-hours that should be in service, such as 0.99; planned work is not counted. The rest is the
    error budget. Without an objective there is no budget, and no alert on its burn rate."""


class Ettr(Section):
    """What a checkpoint and a restart cost. Slurm's logs do not show checkpoints, so measured ETTR assumes these."""

    checkpoint_minutes: Annotated[Minutes, Field(gt=0)] = 60
    """Time between two checkpoints of a training run."""
    restart_minutes: Minutes = 5
    """Time from the start of an attempt until the run makes progress again."""
    write_minutes: Minutes = 0
    """Time for which writing a checkpoint stops the run."""


LemonSignal = Literal[
    "excl_jobid_count", "xid_cnt", "tickets", "out_count", "multi_node_node_fails", "single_node_node_fails",
    "single_node_node_failure_rate",
]  # fmt: skip
"""The seven signals by the paper's names."""


class Lemons(Section):
    """How nodes are compared to find those that fail much more often than others."""

    window_days: Days = 28
    """Days over which the seven signals of a node are counted."""
    rate_days: Days | None = None
    """Days over which failure rates of nodes are compared. The default is the time in which a node that fails ten times
    as often as the fleet has five failures."""
    thresholds: dict[LemonSignal, NotNegative] = {}
    """A node at or above the threshold of a signal is suspect. Signals that are not named have a threshold that is
    computed from the fleet."""


class MappedColumns(Section):
    """The name of the column that holds each value."""

    REQUIRED: ClassVar[tuple[str, ...]] = ()
    """Meanings with columns that every file needs; explicitly set columns are needed too."""

    @property
    def names(self) -> dict[str, str]:
        """The name of each column by its meaning."""
        return self.model_dump()

    @property
    def needed(self) -> list[str]:
        """Meanings without whose columns no file is read."""
        return [*dict.fromkeys((*self.REQUIRED, *sorted(self.model_fields_set)))]


class ColumnMap(Section):
    """How to read tables with mapped columns."""

    columns: MappedColumns
    delimiter: Annotated[str, AfterValidator(one_character)] | None = None
    """The character between cells. By default it is found in the file's first line."""
    date_format: Annotated[Name, AfterValidator(strptime_format)] | None = None
    """Format of dates that are not ISO 8601, in the syntax of Python's strptime."""
    timezone: TimeZone | None = None
    """IANA time zone of times without an offset. The default is the cluster's time zone."""


class TicketColumns(MappedColumns):
    """The name of the column that holds each value in the ticket export. These keys are also allowed in `[tickets]`."""

    REQUIRED = ("ticket_id", "node", "opened")

    ticket_id: Name = "ticket_id"
    """Column of the ticket's number."""
    node: Name = "node"
    """Column of the node's name."""
    opened: Name = "opened"
    """Column of the time at which the ticket was opened."""
    closed: Name = "closed"
    """Column of the time at which the ticket was closed."""
    component: Name = "component"
    """Column of the part that was repaired."""
    action: Name = "action"
    """Column of what was done."""
    status: Name = "status"
    """Column of the ticket's status."""
    summary: Name = "summary"
    """Column of the ticket's title."""


Component = Literal["GPU", "DIMM", "PCIe", "EUD", "BIOS", "NIC", "PSU", "Optics", "CPU", "other"]


class Tickets(ColumnMap):
    """How to read ticket exports."""

    columns: TicketColumns = TicketColumns()
    components: dict[Text, Component] = {}
    """Component by a regular expression (RE2, any case) that the component's cell matches. The first match wins; the
    built-in patterns follow."""

    @model_validator(mode="before")
    @classmethod
    def _gather_columns(cls, given: Any) -> Any:
        """Accept column names directly under `[tickets]` too."""
        if not isinstance(given, dict):
            return given
        direct = {key: value for key, value in given.items() if key in TicketColumns.model_fields}
        rest = {key: value for key, value in given.items() if key not in direct}
        return {**rest, "columns": {**direct, **rest.get("columns", {})}} if direct else given

    @field_validator("components")
    @classmethod
    def _valid_patterns(cls, value: dict[str, Component]) -> dict[str, Component]:
        if value:
            require_patterns(value)
        return value


class FailureColumns(MappedColumns):
    """The name of the column that holds each value in the records of failures."""

    model_config = ConfigDict(validate_by_alias=True)

    node: Name | None = "node"
    """Column of the node's name."""
    unit: Name | None = None
    """Column of the name or number of what failed, if it is not a node, such as a GPU. With `node`, it is a part of the
    node."""
    from_: Annotated[Name, Field(alias="from")] = "from"
    """Column of the time at which it failed."""
    to: Name = "to"
    """Column of the time at which it was back."""
    duration: Name | None = None
    """Column of the time for which it was down. If it is filled, `to` is not read."""
    cause: Name | list[Name] = "cause"
    """Column of the cause, or a list of columns: the name of the filled one is the cause."""
    detail: Name | None = None
    """Column of details on the cause. With a list of causes, their cells are the details."""
    action: Name = "action"
    """Column of what was done."""

    @property
    def names(self) -> dict[str, str]:
        """The name of each column by its meaning; a list of causes has a meaning for each."""
        given = self.model_dump(by_alias=True)
        causes = given.pop("cause")
        several = {f"{CAUSE}{name}": name for name in causes} if isinstance(causes, list) else {"cause": causes}
        return {meaning: name for meaning, name in {**given, **several}.items() if name is not None}

    @property
    def needed(self) -> list[str]:
        """Meanings without whose columns no file is read."""
        set_here = {type(self).model_fields[name].alias or name for name in self.model_fields_set}
        must = {"from", "node" if self.unit is None else "unit", *set_here}
        return [meaning for meaning in self.names if meaning.partition("=")[0] in must]


CAUSE = "cause="
"""Prefix of the meaning of a column that names a cause."""


class InService(Section):
    """Units that were in service during a period."""

    model_config = ConfigDict(validate_by_alias=True)

    units: Annotated[int, Field(ge=1, le=100_000_000)]
    """How many there were, whether they failed or not."""
    from_: Annotated[date | datetime, Field(alias="from"), AfterValidator(in_known_years)]
    """When their service began."""
    to: Annotated[date | datetime, AfterValidator(in_known_years)]
    """When it ended, or until when failures were recorded. A time in the future means up to the newest record."""

    @model_validator(mode="after")
    def _runs_forward(self) -> InService:
        _require_order(self.from_, self.to)
        return self


class Failures(ColumnMap):
    """How to read records of failures and repairs of nodes or other units."""

    columns: FailureColumns = FailureColumns()
    duration_unit: Literal["seconds", "minutes", "hours", "days"] | None = None
    """Unit of the column `duration`."""
    in_service: list[InService] = []

    @model_validator(mode="after")
    def _durations_have_a_unit(self) -> Failures:
        if (self.columns.duration is None) != (self.duration_unit is None):
            raise ValueError("a column 'duration' and 'duration_unit' must be set together")
        return self


class Sacct(Section):
    """Accounting exports without a header."""

    columns: list[Name] = []
    """The columns in order, by sacct's field names."""
    delimiter: Annotated[str, Field(min_length=1, max_length=8), AfterValidator(no_quote_or_newline)] = "|"
    """The text between two columns."""


class Accounting(Section):
    """How to read times of accounting that are neither ISO 8601 nor epoch seconds."""

    time_format: Annotated[Name, AfterValidator(strptime_format)] | None = None
    """Format of times that are neither ISO 8601 nor epoch seconds, in the syntax of Python's strptime."""


ClusterAlert = Literal["cluster", "change_point", "lemon", "error_budget"]
"""Topics of alerts about a cluster: no new numbers, a changed rate, a new lemon, a fast burn of the error budget."""


class Alerts(Section):
    """Where alerts about this cluster go, besides the channels of the home (docs/alerts.md).

    They are used only if nobody but the user of the home and root may write this file.
    """

    on: list[ClusterAlert] = list(get_args(ClusterAlert))
    """Events that send an alert: the cluster could not be fetched or built, its failure rate changed, a node became a
    lemon, or its error budget burns too fast."""
    webhook: Annotated[Text, AfterValidator(web_address)] | None = None
    """Address to which {"text": ...} is posted, as Slack, Mattermost and Rocket.Chat expect it. It is a secret."""
    webhook_file: Text | None = None
    """File that holds the address of the webhook."""
    command: list[Text] = []
    """Program and arguments to run, with the alert as JSON on standard input, and its title and text in the
    environment."""

    @property
    def has_channel(self) -> bool:
        """Whether there is a channel to send to."""
        return bool(self.webhook or self.webhook_file or self.command)


NodeMeaning = Literal[
    "node", "state", "gres", "gpus", "gpu_model", "cpus", "memory", "partition", "reason", "user", "time", "booted",
    "rack", "switch", "nvlink_domain", "position",
]  # fmt: skip
"""Possible meanings of a column in a table of nodes."""


class Inventory(Section):
    """A table of nodes, such as a CSV of the site's own."""

    columns: dict[NodeMeaning, Name] = {}
    """Column by meaning, if its name is not one that `sinfo` prints. `gpus` is a count, `memory` is in MiB, `user` and
    `time` say who gave the reason and when."""
    delimiter: Annotated[str, AfterValidator(one_character)] | None = None
    """The text between two columns. By default it is found in the header."""


class Topology(Section):
    """Where nodes stand, by their names: regular expressions (RE2) whose first group is the place.

    They apply to nodes whose place no file in `inventory/`, such as `topology.conf` or a table, states.
    """

    rack: PlacePattern | None = None
    """Finds the rack in the name of a node."""
    switch: PlacePattern | None = None
    """Finds the switch that the node is attached to."""
    nvlink_domain: PlacePattern | None = None
    """Finds the group of nodes that NVLink connects."""
    position: PlacePattern | None = None
    """Finds the position in the rack."""


class Accelerators(Section):
    """What counts as a GPU."""

    gres: Annotated[list[Annotated[str, Field(pattern=r"^\w{1,64}$")]], Field(min_length=1, max_length=20)] = [
        "gpu",
        "hpu",
    ]
    """Slurm's names of the generic resources that are accelerators, as in `gres/gpu` and `gres/hpu`."""


class Annotation(Section):
    """A dated note, such as a driver upgrade: figures show it, and rates before and after are compared."""

    at: Annotated[date, AfterValidator(in_known_years)]
    """The day."""
    text: Text
    """The note."""


Kind = Literal["sacct", "health", "kernel", "events", "slurmctld", "inventory", "squeue", "tickets", "failures"]
"""The folders of kinds of logs."""
KINDS: tuple[str, ...] = get_args(Kind)


class Span(Section):
    """What the logs of a kind are known to cover, whatever their own times say.

    A date alone is its midnight; dates and times without an offset are in the cluster's time zone.
    """

    model_config = ConfigDict(validate_by_alias=True)

    kind: Kind
    """The kind of log."""
    from_: Annotated[date | datetime, Field(alias="from"), AfterValidator(in_known_years)]
    """The first moment that is covered."""
    to: Annotated[date | datetime, AfterValidator(in_known_years)] | None = None
    """The end of what is covered. The default is the newest record of accounting."""

    @model_validator(mode="after")
    def _runs_forward(self) -> Span:
        _require_order(self.from_, self.to)
        return self


class Quarantine(Section):
    """How many lines of a file may be unreadable."""

    max_share: Share = 0.01
    """Share of a file's lines that may be quarantined. With more of them, its rows stay loaded, but accounting makes
    its cluster stale, and another log covers nothing."""


class Report(Section):
    """What the report shows."""

    names: Literal["shown", "hidden"] = "shown"
    """Whether the report and alerts show names of users, accounts and jobs, and texts from people and logs. The
    published tables always have them."""
