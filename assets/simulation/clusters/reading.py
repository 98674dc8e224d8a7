"""Reads a cluster from a TOML file: the keys are the fields of `Profile`, with four kinds of shorthand.

* `based_on` names a file with the keys that several clusters have in common.
* A row of `lemons` with `root_causes` and `between` stands for several lemons at equal distances.
* A burst's `lemon_root_causes` puts the lemons with these root causes before the burst's own `positions`.
* A row of `shared_faults` or `maintenance` with `repeat` stands for `count` events, `every_days` apart, each
  `position_step` further (from `position_limit` on, at 0 again). A list in such a row has one value for each event, and
  `{pod}` in a reason becomes the number of the first of its `pods`.

An unknown key, a missing key or a value of the wrong type is an error that names its place.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config

from assets.simulation.profiles import Profile

FOLDER = Path(__file__).parent
PROFILES_FILE = "profiles"
Table = dict[str, Any]
SHAPE = TypeAdapter(with_config(ConfigDict(extra="forbid", strict=True))(Profile))


def profile_names() -> list[str]:
    """Return the names of all profiles."""
    return sorted(_read_table(PROFILES_FILE, FOLDER))


def read_profile(name: str) -> tuple[Profile, ...]:
    """Return the clusters of a profile. Raises ValueError for an unknown profile."""
    profiles = _read_table(PROFILES_FILE, FOLDER)
    if name not in profiles:
        raise ValueError(f"unknown profile '{name}'; there are: {', '.join(sorted(profiles))}")
    return tuple(read_cluster(cluster_id) for cluster_id in profiles[name])


def read_cluster(cluster_id: str, folder: Path = FOLDER) -> Profile:
    """Return one cluster. Raises ValueError for an unknown cluster or a mistake in its file."""
    known = sorted({name for clusters in _read_table(PROFILES_FILE, folder).values() for name in clusters})
    if cluster_id not in known:
        raise ValueError(f"unknown cluster '{cluster_id}'; there are: {', '.join(known)}")
    table = _read_table(cluster_id, folder) | {"cluster_id": cluster_id}
    try:
        table["lemons"] = [lemon for row in table.get("lemons", []) for lemon in _lemons(**row)]
        for burst in table.get("bursts", []):
            causes = burst.pop("lemon_root_causes", ())
            at = [lemon["position"] for lemon in table["lemons"] if lemon["root_cause"] in causes]
            burst["positions"] = at + burst.get("positions", [])
        for key in ("shared_faults", "maintenance"):
            rows = table.get(key, [])
            table[key] = [event for row in rows for event in _events(row, **row.pop("repeat", {"count": 0}))]
        # As JSON, so that pydantic accepts an array as a tuple, but no string as a number.
        return SHAPE.validate_json(json.dumps(table, default=str))
    except ValidationError as error:
        places = [f"{'.'.join(map(str, found['loc']))}: {found['msg']}" for found in error.errors()]
        raise ValueError(f"{cluster_id}.toml: {'; '.join(places)}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{cluster_id}.toml: {error}") from error


def _read_table(name: str, folder: Path) -> Table:
    table = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    base = table.pop("based_on", None)
    return _read_table(base, folder) | table if base else table


def _lemons(root_causes: list[str] | None = None, between: tuple[float, float] = (0, 1), **row: Any) -> list[Table]:
    """Return a row for each lemon."""
    if root_causes is None:
        return [row]
    low, high = between
    step = (high - low) / len(root_causes)
    at = [low + (number + 0.5) * step for number in range(len(root_causes))]
    return [row | {"position": position, "root_cause": cause} for position, cause in zip(at, root_causes, strict=True)]


def _events(  # noqa: PLR0917
    row: Table,
    count: int,
    every_days: float = 0.0,
    position_step: float = 0.0,
    position_limit: float = 1.0,
    pods: int = 1,
) -> Iterator[Table]:
    """Return the events of a row: one, unless the row has a count."""
    for number in range(count or 1):
        event = {key: value[number] if isinstance(value, list) else value for key, value in row.items()}
        event["day"] += every_days * number
        if position_step:
            event["first_position"] = (event["first_position"] + position_step * number) % position_limit
        if "reason" in event:
            event["reason"] = event["reason"].format(pod=pods * number + 1)
        yield event
