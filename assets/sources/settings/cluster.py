"""Everything that a `cluster.toml` may say, and a cluster's settings with where they stand."""

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
"""Kinds of logs of which a site's kernel rules tell the lines worth reading."""


class Settings(Section):
    """Everything `cluster.toml` may say."""

    timezone: TimeZone = "UTC"
    """IANA time zone of the times in the logs that tell no offset: the zone of the hosts on which sacct and slurmctld
    ran."""
    slurm_cluster: SlurmCluster | None = None
    """Slurm's name of the cluster, where it is not that of the folder. Without it `slurm_cluster` under `[pull]` holds,
    else the folder's name. Of a file with rows of several clusters, those that name this one are read. Case means
    nothing."""
    simulated: bool = False
    """Whether the logs are simulated. Every place that shows the cluster then says so."""
    gpus_per_node: Annotated[int, Field(ge=0, le=10_000)] = 8
    """GPUs of a node for which neither accounting nor the inventory tells them."""
    gpu_model: Name | None = None
    """Model of the GPUs of nodes for which neither accounting nor the inventory tells it."""
    price_per_gpu_hour: NotNegative | None = None
    """Price of one GPU for one hour. With it, losses are also told in money."""
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
        """Let notes be written as a table too: `[annotations]` with lines `"2026-01-31" = "driver 550.90"`."""
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
        """The site's own patterns that are looked for in free text."""
        return [*(rule.pattern for rule in self.node_reasons), *(rule.pattern for rule in self.repair_actions)]


class ClusterSettings(BaseModel):
    """A cluster folder with its settings and where they stand."""

    model_config = ConfigDict(frozen=True)

    cluster_id: str
    settings: Settings = Settings()
    config_path: str | None = None
    config_sha256: str | None = None
    untrusted: Untrusted | None = None
    """Why the file may not run a program, read a file that it names or send anything; None if it may."""
    removed_keys: tuple[str, ...] = ()
    """Keys in the file that are not read any more."""

    @property
    def slurm_cluster(self) -> str:
        """Slurm's name of the cluster."""
        pulled = self.settings.pull.slurm_cluster if self.settings.pull else None
        return self.settings.slurm_cluster or pulled or self.cluster_id

    @property
    def pull(self) -> Pull | Untrusted | None:
        """How the cluster is pulled, or why its table `[pull]` is not obeyed; None without this table."""
        return self.settings.pull and (self.untrusted or self.settings.pull)

    @property
    def is_pseudonymous(self) -> bool:
        """Whether no name of a user, account or job may be stored."""
        return self.settings.privacy == "pseudonymous"

    @property
    def reading_hash(self) -> str:
        """Hash of the settings that change how files are read; the others take effect without reading again."""
        parts = self.settings.model_dump(mode="json", include={"timezone", "nodes", "sacct", "tickets"})
        # An unused section adds nothing to the hash, so a section that a new version brings has no log read again.
        for name in ("inventory", "accounting", "accelerators", "failures"):
            section = getattr(self.settings, name)
            if section != type(section)():
                parts[name] = section.model_dump(mode="json", exclude={"in_service"})
        if self.settings.tickets.components:
            # The first pattern that fits wins, so their order matters too.
            parts["tickets"]["components"] = [*self.settings.tickets.components.items()]
        if self.slurm_cluster != self.cluster_id:
            parts["slurm_cluster"] = self.slurm_cluster
        if unfolded := self.settings.health.unfolded:
            parts["unfolded"] = unfolded
        if self.is_pseudonymous:
            # The words of the rules stay in a text that is cut.
            parts["privacy"] = [pseudonyms.VERSION, *self.settings.patterns_of_texts]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]

    def reading_hash_of(self, kind: str) -> str:
        """Hash of the settings that change how files of a kind are read.

        What a kernel rule finds is a matter of reading, because the lines that no rule knows are not stored. What it
        means is not.
        """
        patterns = self.settings.kernel.patterns
        if kind not in READ_BY_RULES or not patterns:
            return self.reading_hash
        return hashlib.sha256(json.dumps([self.reading_hash, patterns]).encode()).hexdigest()[:16]
