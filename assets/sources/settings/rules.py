"""What a site's own checks, kernel lines, node reasons and Xids mean: rules that come before the built-in ones."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from assets.sources.settings.sections import FailureCategory, Section
from assets.sources.settings.values import Name, Text
from assets.sources.text.patterns import MAX_PATTERNS, require_patterns

Severity = Literal["high", "low", "info"]
CheckCategory = Literal[FailureCategory, "performance", "config"]
ReasonCategory = Literal[CheckCategory, "node_fail_unattributed", "repair", "planned"]
Class = Literal["A", "B", "none"]
MAX_RULES = 500
"""Most rules of a site in one section, with and without a pattern."""


class Rule(Section):
    """The meaning that a rule gives to what it fits."""

    severity: Severity = "low"
    """How severe it is: `high` takes the node and its jobs down at once, `low` drains the node after the job, `info`
    needs no action and is never evidence."""
    evidence: bool = True
    """Whether it proves an infrastructure failure if it is near the end of a failed attempt. If false, it only supports
    other evidence."""

    def evidence_class_of(self, category: str) -> Class:
        """Return the class of evidence: A proves a failure, B supports other evidence, none does neither."""
        if category in ("config", "node_fail_unattributed", "repair", "planned") or self.severity == "info":
            return "none"
        return "A" if self.evidence and category != "performance" else "B"


class HealthCheck(Rule):
    """A health check of the site, by its exact name or by a pattern. The first rule that fits a check applies."""

    name: Name | None = None
    """The check's name in the logs; case does not matter."""
    pattern: Text | None = None
    """A regular expression (RE2, any case) that is found in the check's name. Give either this or `name`."""
    category: CheckCategory
    """What a bad result means. `performance` and `config` are never the cause of a failure."""
    sticky: bool = True
    """Whether the check keeps failing after a fault. Then repeated bad results are one event, until a good result, a
    boot of the node or a long silence. If false, each bad result is a separate event: it shows the node at that moment,
    and is evidence for the attempt that ended then."""

    @model_validator(mode="after")
    def _names_one(self) -> HealthCheck:
        if (self.name is None) == (self.pattern is None):
            raise ValueError("give either 'name' or 'pattern'")
        return self


class Health(Section):
    """How to read the results of health checks."""

    checks: Annotated[list[HealthCheck], Field(max_length=MAX_RULES)] = Field(default_factory=list)

    @field_validator("checks")
    @classmethod
    def _valid_patterns(cls, rules: list[HealthCheck]) -> list[HealthCheck]:
        require_patterns([rule.pattern for rule in rules if rule.pattern is not None])
        return rules

    @property
    def unfolded(self) -> list[tuple[str | None, str | None]]:
        """Name and pattern of the checks whose bad results each count: they are never folded into a stretch."""
        return [(rule.name, rule.pattern) for rule in self.checks if not rule.sticky]


class KernelLine(Rule):
    """What a line of the kernel or of Slurm's controller means. The first rule that fits a line applies."""

    pattern: Text
    """A regular expression (RE2, any case) that is found in the message, after its time, host and tag. For a line of
    another program, it has to name the program, as in `^nvidia-persistenced: `."""
    category: CheckCategory
    """What the line means. `performance` and `config` are never the cause of a failure."""


class Kernel(Section):
    """How to read the lines of the kernel and of Slurm's controller."""

    rules: Annotated[list[KernelLine], Field(max_length=MAX_PATTERNS)] = Field(default_factory=list)

    @field_validator("rules")
    @classmethod
    def _valid_patterns(cls, rules: list[KernelLine]) -> list[KernelLine]:
        patterns = [rule.pattern for rule in rules]
        require_patterns(patterns)
        if len(set(patterns)) < len(patterns):
            raise ValueError("each pattern may stand there once")
        return rules

    @property
    def patterns(self) -> list[str]:
        """The patterns in order."""
        return [rule.pattern for rule in self.rules]


class NodeReason(Rule):
    """What the reason text of a node that is down or drained means. The first rule that fits a text applies."""

    pattern: Text
    """A regular expression (RE2, any case) that is found in the reason."""
    category: ReasonCategory | None = None
    """What the reason means. `performance`, `config`, `repair` and `node_fail_unattributed` are never the cause of a
    failure."""
    planned: bool = False
    """Whether the node was taken out for planned work. Such work is never a cause, and its outages are counted as
    planned, whatever the category."""

    @model_validator(mode="after")
    def _means_something(self) -> NodeReason:
        if self.category is None and not self.planned:
            raise ValueError("give 'category', or 'planned = true'")
        return self

    @property
    def meaning(self) -> str:
        """The category in the tables."""
        return "planned" if self.planned or self.category is None else self.category


class RepairAction(Section):
    """The repair that a ticket's action or an administrator's reason describes. The first rule that fits applies."""

    pattern: Text
    """A regular expression (RE2, any case) that is found in the text."""
    action: Literal["reboot", "reset", "reseat", "exchange", "none", "unknown"]
    """What was done: `reset` means a device, a driver or a service, `none` that nothing was done, `unknown` that it was
    something else."""


class XidMeaning(Rule):
    """The meaning of an Xid that is not in the built-in table, or that has another meaning at this site."""

    code: Annotated[int, Field(ge=0, le=100_000)]
    """The number of the Xid."""
    category: CheckCategory
    """What the error means."""
