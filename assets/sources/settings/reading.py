"""Read a cluster's `cluster.toml`; each error names the key, the value and what is allowed."""

from __future__ import annotations

import hashlib
import os
import tomllib
from datetime import date
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from assets.sources.errors import SourceError
from assets.sources.links import leads_into_cluster, refusal_of_link
from assets.sources.regular import read_small_with_status, unreadable
from assets.sources.settings.cluster import ClusterSettings, Settings
from assets.sources.settings.ownership import distrust

MAX_SETTINGS_BYTES = 1024 * 1024

MAX_ERRORS, MAX_SHOWN, MAX_EXPLANATION = 20, 100, 400
"""How many errors of a file are reported, and how many characters of a wrong key or value and of what is allowed."""

REMOVED_KEYS = {
    "alerts.email": "Let 'command' run a program that sends mail (docs/alerts.md), and delete the key.",
    **dict.fromkeys(
        ("pull.via", "pull.slurmrestd", "pull.slurmrestd_user", "pull.token_file", "pull.api_version"),
        "Delete the key: slurmrestd and JSON are not used; `sacct -P` is, here or over ssh (docs/pull.md).",
    ),
    "pull.pause_seconds": "Delete the key: after a query, a pull rests as long as the query took, at most 2 seconds.",
}
"""Keys that are ignored with a warning for one release, and what replaces them."""

NOT_SHOWN = "webhook"
"""A key with this in its name has a secret value."""


def read_settings(folder: Path, cluster_id: str) -> tuple[ClusterSettings, list[SourceError]]:
    """Read a cluster's `cluster.toml`; without one, and for a link to another cluster's folder, use the defaults.

    Returns
    -------
    The settings (the defaults when the file is wrong) and what is wrong.
    """
    file = folder / "cluster.toml"
    shown = f"{cluster_id}/cluster.toml"
    if not os.path.lexists(file) or leads_into_cluster(folder):
        return ClusterSettings(cluster_id=cluster_id), []
    if refusal := refusal_of_link(file, shown):
        return ClusterSettings(cluster_id=cluster_id), [refusal]
    try:
        content, status = read_small_with_status(file, MAX_SETTINGS_BYTES)
        untrusted = distrust(file, status)
        document = tomllib.loads(content.decode("utf-8"))
        removed = _take_removed(document)
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
    return (
        ClusterSettings(
            cluster_id=cluster_id,
            settings=settings,
            config_path=shown,
            config_sha256=digest,
            untrusted=untrusted,
            removed_keys=removed,
        ),
        [],
    )


def warnings_of(cluster: ClusterSettings) -> list[SourceError]:
    """Return a warning for each key of a cluster's file that is no longer read."""
    return [
        SourceError(f"{cluster.cluster_id}/cluster.toml", f"key '{key}' is not read any more", REMOVED_KEYS[key])
        for key in cluster.removed_keys
    ]


def _take_removed(document: dict[str, Any]) -> tuple[str, ...]:
    """Remove keys that are no longer read from a file's content, and return their names."""
    found = []
    for key in REMOVED_KEYS:
        table, _, name = key.partition(".")
        section = document.get(table)
        if isinstance(section, dict) and name in section:
            del section[name]
            found.append(key)
    return tuple(found)


def section_of(annotation: Any) -> type[BaseModel] | None:
    """Return the section in a key's type: the type itself, or the one in a list or an optional type."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := section_of(part))), None)


def allowed_keys(location: tuple[int | str, ...]) -> list[str]:
    """Return the keys that are allowed next to the one at `location`."""
    model: type[BaseModel] | None = Settings
    for part in location[:-1]:
        if model is not None and not isinstance(part, int):
            model = section_of(model.model_fields[part].annotation)
    return sorted(field.alias or name for name, field in model.model_fields.items()) if model else []


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
        if NOT_SHOWN in key:
            value = "(not shown)"
        errors.append(SourceError(path, f"key '{key}' has the bad value {value}", f"{what[:1].upper()}{what[1:]}."))
    return errors


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
