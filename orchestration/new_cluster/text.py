"""The text of a new `cluster.toml`: what a site decides, with what was found as keys and all else as comments.

Made of the same models that read the file. A line that begins with `#` and no blank is a key, to be set by taking the
`#` away; text begins with `# `.
"""

from __future__ import annotations

import textwrap
import tomllib
from typing import Any

from assets.sources.settings.described import Described, Key, sections, toml_value
from orchestration.new_cluster.slurm_facts import Facts
from orchestration.terminal import visible

WIDTH = 118
DECIDED = {
    "": ("timezone", "gpus_per_node", "gpu_model", "price_per_gpu_hour", "currency", "privacy"),
    "ettr": ("checkpoint_minutes", "restart_minutes"),
    "availability": ("objective",),
    "report": ("names",),
    "pull": ("ssh",),
}
"""The keys that a new site decides, by section; every other one has a default that fits until a page says otherwise."""


def cluster_toml(cluster: str, facts: Facts) -> str:
    """Return the file for a cluster."""
    lines = _prose(
        f"Settings of the cluster {visible(cluster)}: what a site decides. Take the # before a key away to set it. "
        "docs/configuration.md has every setting with its default, and `faultline doctor` checks this file."
    )
    for note in facts.notes:
        lines += _prose(f"Note: {visible(note)}.")
    for section in sections():
        found = {key: given for (path, key), given in facts.values.items() if path == section.path}
        keys = [key for key in section.keys if key.name in {*DECIDED.get(section.path, ()), *found}]
        if keys:
            lines += ["", *_section(section, keys, found)]
    return "\n".join(lines) + "\n"


def _section(section: Described, keys: list[Key], found: dict[str, tuple[Any, str]]) -> list[str]:
    lines = (
        [*_prose(_first_sentence(section.meaning)), f"{'' if found else '#'}{section.header}"] if section.path else []
    )
    examples = _example(section)
    for key in keys:
        choices = f": {key.takes}." if key.takes.startswith('"') else "."
        meaning = _first_sentence(key.meaning).removesuffix(".") + choices
        if key.name in found:
            value, source = found[key.name]
            lines += [*_prose(f"{meaning} Found: {visible(source)}."), f"{key.name} = {toml_value(value)}"]
        elif key.default is None:
            lines += [*_prose(f"{meaning} An example:"), f"#{key.name} = {toml_value(examples[key.name])}"]
        else:
            lines += [*_prose(f"{meaning} The default:"), f"#{key.name} = {key.default_text}"]
    return lines


def _first_sentence(text: str) -> str:
    return text.partition(". ")[0].removesuffix(".") + "."


def _example(section: Described) -> dict[str, Any]:
    """Return the values of a section's example by key."""
    document: Any = tomllib.loads(section.example)
    for part in filter(None, section.path.split(".")):
        document = document[part]
    return dict(document)


def _prose(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)]
