"""The page docs/configuration.md: every key of `cluster.toml` and every variable of the environment.

The keys come from the models that read the file, and the variables from the table below. A test compares the page with
the models and the code.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assets.sources.settings.described import Described, Key, sections
from orchestration.settings import environment
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home
from orchestration.upkeep.permissions import PUBLISH_GROUP
from tests.docs.writers.pages import table

INTRODUCTION = """# Configuration

<!-- run by: tests/docs/test_written_pages.py -->

`make docs` writes this page from the code that reads the settings. There are two kinds of settings:

* `cluster.toml` in a cluster's folder says how Faultline reads and judges that cluster's logs. It may be missing: every
  key that is not required has a default. `faultline init CLUSTER` writes a file with the keys that a site decides, and
  fills in what Slurm reports.
* Environment variables say where the home is and what a refresh may use.

`faultline refresh` and `faultline doctor` report a mistake in a `cluster.toml` at once, with the file, the key and the
allowed values. The cluster keeps its last good numbers until you correct the file; other clusters are built. A change
takes effect with the next refresh. A refresh reads logs again only after a change of a setting that concerns reading:
`timezone`, `slurm_cluster`, `[nodes]`, `[sacct]`, `[tickets]`, `[failures]`, `privacy`, a health check with
`sticky = false`, and the patterns under `[[kernel.rules]]` (logs of `kernel/` and `slurmctld/` only).
"""
RULES = """The rules in `[[health.checks]]`, `[[kernel.rules]]`, `[[node_reasons]]`, `[[repair_actions]]` and
`[[xids]]` come before the built-in ones; for the controller's log, those of `[[kernel.rules]]` come after them.
`faultline status` counts the signals without a rule; `faultline doctor --rules` and the report's page on data quality
print the lines to paste. `marts.dim_failure_categories` lists the categories."""

KEY = ("key", "takes", "default", "unit", "meaning")
VARIABLE = ("variable", "default", "meaning")


@dataclass(frozen=True)
class Variable:
    """A variable of the environment: its name, its default in words, and its meaning."""

    name: str
    default: str
    meaning: str


def variables() -> list[Variable]:
    """List the variables that Faultline reads; docs/spark.md lists those of Spark."""
    defaults = HomeSettings(Home.at(Path("data")))
    return [
        Variable(environment.HOME, "`data`", "The folder that holds everything."),
        Variable(environment.SOURCES, "`HOME/sources`", "The folder that holds the logs; not used with `--home`."),
        Variable(environment.SCHEDULE, f"`{defaults.schedule}`", "Cron line of the nightly refresh."),
        Variable(environment.TIMEZONE, f"`{defaults.schedule_timezone}`", "IANA time zone of that line."),
        Variable(environment.MEMORY, f"`{defaults.memory_limit}`", "DuckDB's memory limit; larger steps use the disk."),
        Variable(environment.THREADS, "one per core", "DuckDB's threads."),
        Variable(
            environment.KEEP_PUBLICATIONS,
            f"`{defaults.keep_publications}`",
            "How many publications are kept, for `faultline rollback`.",
        ),
        Variable(PUBLISH_GROUP, "none", "A group that may read publications; only this user can read the rest."),
        Variable(
            environment.PRIVACY_KEY_FILE,
            "`~/.config/faultline/privacy.key`",
            "The key of pseudonyms, outside the home ([privacy.md](privacy.md#the-key)).",
        ),
        Variable(environment.FRESHNESS_HOURS, f"`{defaults.freshness_hours}`", "A publication that is older is stale."),
        Variable(
            environment.METRICS_FILE,
            "`HOME/metrics/faultline.prom`",
            "Where refreshes and rollbacks write the metrics ([alerts.md](alerts.md#metrics)).",
        ),
        Variable(
            environment.LINEAGE,
            "none",
            "A file or an address to which each refresh writes OpenLineage events ([operations.md](operations.md)).",
        ),
        Variable(environment.LINEAGE_KEY_FILE, "none", "A file with the key for that address."),
        Variable(environment.UI_TOKEN, "made at each start", "The token of the web UI ([ui.md](ui.md))."),
        Variable(environment.CACHE, "`~/.cache`", "The user's caches; Faultline's are in `faultline/`."),
        Variable(
            environment.ALERT_WEBHOOK,
            "none",
            'An address to which an alert is posted as `{"text": ...}` ([alerts.md](alerts.md)).',
        ),
        Variable(
            environment.ALERT_COMMAND, "none", "A program that sends an alert, with arguments, quoted as in a shell."
        ),
    ]


def page() -> str:
    """Return the whole page."""
    parts = [INTRODUCTION, "## cluster.toml\n", RULES, ""]
    for section in sections():
        parts += _section(section)
    parts += ["## Variables of the environment\n"]
    parts += ["Each command reads them once, when it starts. Options such as `--home` take precedence."]
    parts += ["Any other variable that begins with `FAULTLINE_` causes a warning.\n"]
    rows = ((f"`{variable.name}`", variable.default, variable.meaning) for variable in variables())
    parts += [table(VARIABLE, rows, VARIABLE)]
    parts += ["[Spark](spark.md) lists those of a build on Spark.", "", "## Completion in the shell", ""]
    parts += ["`faultline --install-completion` lets Tab complete commands, options, clusters, tables and profiles."]
    return "\n".join(parts) + "\n"


def _section(section: Described) -> list[str]:
    title = f"`{section.header}`" if section.path else "Keys above all tables"
    meaning = section.meaning if section.path else "They stand first in the file, before the first line in brackets."
    return [
        f"### {title}",
        "",
        meaning,
        "",
        table(KEY, map(_row, section.keys), KEY),
        "```toml",
        section.example,
        "```",
        "",
    ]


def _row(key: Key) -> tuple[str, ...]:
    default = key.default_text if key.default_text in ("none", "required") else f"`{key.default_text}`"
    return f"`{key.name}`", key.takes, default, key.unit or "–", key.meaning
