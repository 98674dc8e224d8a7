"""The text of a new `cluster.toml`: every key with its meaning, what was found as keys, all else as comments.

Made of the same models that read the file. A line that begins with `#` and no blank is a key with its default, to be
made a key by taking the `#` away; text begins with `# `.
"""

from __future__ import annotations

import textwrap
import tomllib
from typing import Any

from assets.sources.settings.described import NO_DEFAULT, Described, sections, toml_value
from orchestration.new_cluster.slurm_facts import Facts
from orchestration.terminal import visible

WIDTH = 98


def cluster_toml(cluster: str, facts: Facts) -> str:
    """Return the file for a cluster."""
    lines = _prose(
        f"Settings of the cluster {visible(cluster)}. A line that begins with #key shows a default: take the # away to "
        "change it. docs/configuration.md describes every key, and `faultline doctor` checks this file."
    )
    for note in facts.notes:
        lines += _prose(f"Note: {visible(note)}.")
    for section in sections():
        lines += ["", *(_list_section(section) if section.is_list else _section(section, facts))]
    return "\n".join(lines) + "\n"


def _section(section: Described, facts: Facts) -> list[str]:
    found = {key: given for (path, key), given in facts.values.items() if path == section.path}
    lines = [*_prose(section.meaning), f"{'' if found else '#'}{section.header}"] if section.path else []
    examples = _example(section)
    for key in section.keys:
        if key.name in found:
            value, source = found[key.name]
            lines += [*_prose(f"{key.meaning} Found: {visible(source)}."), f"{key.name} = {toml_value(value)}"]
        elif key.default is None:
            lines += _prose(f"{key.meaning} Not set by default; this is an example.")
            lines.append(f"#{key.name} = {toml_value(examples[key.name])}")
        else:
            lines += [*_prose(key.meaning), f"#{key.name} = {key.default_text}"]
    return lines


def _list_section(section: Described) -> list[str]:
    lines = _prose(f"{section.meaning} There may be several; this is an example.")
    for key in section.keys:
        default = "required" if key.default is NO_DEFAULT else f"default {key.default_text}"
        lines += _prose(f"{key.name} ({default}): {key.meaning}")
    return lines + [f"#{line}" for line in section.example.splitlines() if line]


def _example(section: Described) -> dict[str, Any]:
    """Return the values of a section's example by key."""
    document: Any = tomllib.loads(section.example)
    for part in filter(None, section.path.split(".")):
        document = document[part]
    return dict(document)


def _prose(text: str) -> list[str]:
    return [f"# {line}" for line in textwrap.wrap(text, WIDTH, break_long_words=False, break_on_hyphens=False)]
