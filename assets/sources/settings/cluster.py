"""Everything that a `cluster.toml` may say, and the settings of a cluster with their place."""

from __future__ import annotations

import hashlib
import json
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from assets.sources.settings.ownership import Untrusted
from assets.sources.settings.pull import Pull
from assets.sources.settings.rules import MAX_RULES, Health, Kernel, NodeReason, RepairAction, XidMeaning
from assets.sources.settings.sections import (
    Accelerators,
    Accounting,
    Alerts,
    Annotation,
    Attribution,
    Availability,
    Ettr,
    Failures,
    Inventory,
    Lemons,
    Nodes,
    Quarantine,
    Report,
    Runs,
    Sacct,
    Section,
    Span,
    Tickets,
    Topology,
)
from assets.sources.settings.values import Name, NotNegative, SlurmCluster, TimeZone
from assets.sources.text import pseudonyms
from assets.sources.text.patterns import require_patterns

READ_BY_RULES = ("kernel", "slurmctld")
"""Kinds of logs in which a site's kernel rules decide which lines are worth reading."""


class Settings(Section):
    """Everything `cluster.toml` may say."""

    timezone: TimeZone = "UTC"
    """IANA time zone of the times in the logs that have no offset: the zone of the hosts on which sacct and slurmctld
    ran."""
    slurm_cluster: SlurmCluster | None = None
    """Slurm's name of the cluster, if it is not that of the folder. Without it `slurm_cluster` under `[pull]` applies,
    else the folder's name. In a file with rows of several clusters, only those that name this one are read. Case does
    not matter."""
    simulated: bool = False
    """Whether the logs are simulated. If so, every place that shows the cluster says it."""
    gpus_per_node: Annotated[int, Field(ge=0, le=10_000)] = 8
    """GPUs of a node if neither accounting nor the inventory states them."""
    gpu_model: Name | None = None
    """Model of the GPUs of nodes if neither accounting nor the inventory states it."""
    price_per_gpu_hour: NotNegative | None = None
    """Price of one GPU for one hour. With it, losses are also shown in money."""
    currency: Name | None = None
    """Currency of the price, as it is shown."""
    privacy: Literal["plain", "pseudonymous"] = "plain"
    """Whether names are stored as they are. With "pseudonymous", users, accounts, job names and submit lines become
    keyed hashes before anything is stored, and free text is cut to known words. After a change the cluster has no
    numbers until `faultline refresh --forget CLUSTER --yes`, which deletes what was published before."""
    attribution: Attribution = Attribution()
    runs: Runs = Runs()
    nodes: Nodes = Nodes()
    ettr: Ettr = Ettr()
    availability: Availability = Availability()
    lemons: Lemons = Lemons()
    sacct: Sacct = Sacct()
    accounting: Accounting = Accounting()
    inventory: Inventory = Inventory()
    topology: Topology = Topology()
    accelerators: Accelerators = Accelerators()
    tickets: Tickets = Tickets()
    failures: Failures = Failures()
    health: Health = Health()
    kernel: Kernel = Kernel()
    node_reasons: Annotated[list[NodeReason], Field(max_length=MAX_RULES)] = Field(default_factory=list)
    repair_actions: Annotated[list[RepairAction], Field(max_length=MAX_RULES)] = Field(default_factory=list)
    xids: Annotated[list[XidMeaning], Field(max_length=MAX_RULES)] = Field(default_factory=list)
    annotations: list[Annotation] = Field(default_factory=list)
    spans: list[Span] = Field(default_factory=list)
    quarantine: Quarantine = Quarantine()
    report: Report = Report()
    alerts: Alerts = Alerts()
    pull: Pull | None = None

    @field_validator("annotations", mode="before")
    @classmethod
    def _list_of_notes(cls, given: Any) -> Any:
        """Accept notes as a table too: `[annotations]` with lines `"2026-01-31" = "driver 550.90"`."""
        if not isinstance(given, dict):
            return given
        return [{"at": date.fromisoformat(day), "text": text} for day, text in given.items()]

    @field_validator("xids")
    @classmethod
    def _codes_differ(cls, rules: list[XidMeaning]) -> list[XidMeaning]:
        codes = [rule.code for rule in rules]
        if twice := sorted({code for code in codes if codes.count(code) > 1}):
            raise ValueError(f"each code may stand there once; {', '.join(map(str, twice))} does not")
        return rules

    @field_validator("node_reasons", "repair_actions")
    @classmethod
    def _valid_patterns(cls, rules: list[NodeReason] | list[RepairAction]) -> list[NodeReason] | list[RepairAction]:
        require_patterns([rule.pattern for rule in rules])
        return rules

    @property
    def patterns_of_texts(self) -> list[str]:
        """The site's own patterns that are searched in free text."""
        return [*(rule.pattern for rule in self.node_reasons), *(rule.pattern for rule in self.repair_actions)]


class ClusterSettings(BaseModel):
    """A cluster folder with its settings and their place."""

    model_config = ConfigDict(frozen=True)

    cluster_id: str
    settings: Settings = Settings()
    config_path: str | None = None
    config_sha256: str | None = None
    untrusted: Untrusted | None = None
    """Why the file may not run a program, read a file that it names, or send anything; None if it may."""
    removed_keys: tuple[str, ...] = ()
    """Keys in the file that are no longer read."""

    @property
    def slurm_cluster(self) -> str:
        """Slurm's name of the cluster."""
        pulled = self.settings.pull.slurm_cluster if self.settings.pull else None
        return self.settings.slurm_cluster or pulled or self.cluster_id

    @property
    def pull(self) -> Pull | Untrusted | None:
        """How to pull the cluster, or why its table `[pull]` is ignored; None without this table."""
        return self.settings.pull and (self.untrusted or self.settings.pull)

    @property
    def is_pseudonymous(self) -> bool:
        """Whether names of users, accounts and jobs must not be stored."""
        return self.settings.privacy == "pseudonymous"

    @property
    def reading_hash(self) -> str:
        """Hash of the settings that change how files are read; other settings take effect without reading again."""
        parts = self.settings.model_dump(mode="json", include={"timezone", "nodes", "sacct", "tickets"})
        # An unused section adds nothing to the hash, so a section that a new version adds makes no log be read again.
        for name in ("inventory", "accounting", "accelerators", "failures"):
            section = getattr(self.settings, name)
            if section != type(section)():
                parts[name] = section.model_dump(mode="json", exclude={"in_service"})
        if self.settings.tickets.components:
            # The first pattern that fits wins, so the order matters too.
            parts["tickets"]["components"] = [*self.settings.tickets.components.items()]
        if self.slurm_cluster != self.cluster_id:
            parts["slurm_cluster"] = self.slurm_cluster
        if unfolded := self.settings.health.unfolded:
            parts["unfolded"] = unfolded
        if self.is_pseudonymous:
            # Words of the rules stay in a text that is cut to known words.
            parts["privacy"] = [pseudonyms.VERSION, *self.settings.patterns_of_texts]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def reading_hash_of(self, kind: str) -> str:
        """Hash of the settings that change how files of a kind are read.

        The pattern of a kernel rule affects reading, because lines that no rule knows are not stored. Its meaning does
        not.
        """
        patterns = self.settings.kernel.patterns
        if kind not in READ_BY_RULES or not patterns:
            return self.reading_hash
        return hashlib.sha256(json.dumps([self.reading_hash, patterns]).encode()).hexdigest()[:16]
