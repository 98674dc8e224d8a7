"""Reads a cluster's TOML file into a `Profile`.

The keys of a file are the fields of `Profile`. Four things are shorter in a file than in the profile:

* `based_on` names a file with the keys that several clusters have in common.
* A row of `lemons` with `root_causes` and `between` stands for several lemons at equal distances.
* A burst's `lemon_root_causes` puts the lemons with these root causes before the burst's own `positions`.
* A row of `shared_faults` or `maintenance` with `repeat` stands for several events. A list in such a row has one value
  for each event.

An unknown key, a missing key or a value of the wrong type is an error.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import date
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, cast, get_args, get_origin, get_type_hints

from assets.simulation.profiles import Profile

FOLDER = Path(__file__).parent
PROFILES_FILE = "profiles"
Table = dict[str, Any]
Built = TypeVar("Built")


@dataclass(frozen=True)
class Repeat:
    """How a row of events is repeated.

    Attributes
    ----------
    count
        Number of events.
    every_days
        Time from one event to the next.
    position_step, position_limit
        How far the next event's first node is from this one's; from the limit on, positions start again at 0.
    pods
        Number of pods of each event; `{pod}` in a reason becomes the number of the first of them.
    """

    count: int
    every_days: float
    position_step: float = 0.0
    position_limit: float = 1.0
    pods: int = 1


@dataclass(frozen=True)
class LemonGroup:
    """Lemons of one rate at equal distances between two positions, one for each root cause."""

    root_causes: tuple[str, ...]
    rate: float
    between: tuple[float, float]

    def lemons(self) -> list[Table]:
        """Give a row for each lemon."""
        low, high = self.between
        step = (high - low) / len(self.root_causes)
        return [
            {"position": low + (number + 0.5) * step, "root_cause": root_cause, "rate": self.rate}
            for number, root_cause in enumerate(self.root_causes)
        ]


def profile_names() -> list[str]:
    """Give the names of all profiles."""
    return sorted(_read_table(PROFILES_FILE, FOLDER))


def read_profile(name: str) -> tuple[Profile, ...]:
    """Read the clusters of a profile.

    Raises
    ------
    ValueError
        For an unknown profile.
    """
    profiles = _read_table(PROFILES_FILE, FOLDER)
    if name not in profiles:
        raise ValueError(f"unknown profile '{name}'; there are: {', '.join(sorted(profiles))}")
    return tuple(read_cluster(cluster_id) for cluster_id in profiles[name])


def read_cluster(cluster_id: str, folder: Path = FOLDER) -> Profile:
    """Read one cluster.

    Raises
    ------
    ValueError
        For an unknown cluster, or when its file has an unknown key, lacks one, or has a value of the wrong type. The
        message names the place.
    """
    known = sorted({name for clusters in _read_table(PROFILES_FILE, folder).values() for name in clusters})
    if cluster_id not in known:
        raise ValueError(f"unknown cluster '{cluster_id}'; there are: {', '.join(known)}")
    table = _read_table(cluster_id, folder)
    table["lemons"] = [lemon for row in table.get("lemons", []) for lemon in _lemons(row, cluster_id)]
    table["bursts"] = [_with_lemons(row, table["lemons"]) for row in table.get("bursts", [])]
    for key in ("shared_faults", "maintenance"):
        table[key] = [event for row in table.get(key, []) for event in _events(row, f"{cluster_id}.toml: {key}")]
    return _build(Profile, table | {"cluster_id": cluster_id}, f"{cluster_id}.toml")


def _read_table(name: str, folder: Path) -> Table:
    table = tomllib.loads((folder / f"{name}.toml").read_text(encoding="utf-8"))
    base = table.pop("based_on", None)
    return _read_table(base, folder) | table if base else table


def _lemons(row: Table, cluster_id: str) -> list[Table]:
    return _build(LemonGroup, row, f"{cluster_id}.toml: lemons").lemons() if "root_causes" in row else [row]


def _with_lemons(row: Table, lemons: Iterable[Table]) -> Table:
    root_causes = row.get("lemon_root_causes", ())
    positions = [lemon["position"] for lemon in lemons if lemon["root_cause"] in root_causes]
    rest = {key: value for key, value in row.items() if key != "lemon_root_causes"}
    return rest | {"positions": positions + row.get("positions", [])}


def _events(row: Table, where: str) -> Iterator[Table]:
    """Give the events of a row, one without `repeat`."""
    if "repeat" not in row:
        yield row
        return
    repeat = _build(Repeat, row["repeat"], f"{where}: repeat")
    for number in range(repeat.count):
        event = {key: value[number] if isinstance(value, list) else value for key, value in row.items()}
        del event["repeat"]
        event["day"] += repeat.every_days * number
        if repeat.position_step:
            event["first_position"] = (event["first_position"] + repeat.position_step * number) % repeat.position_limit
        if "reason" in event:
            event["reason"] = event["reason"].format(pod=repeat.pods * number + 1)
        yield event


def _build(kind: type[Built], table: Table, where: str) -> Built:
    """Make a dataclass of a table whose keys are its fields."""
    hints = get_type_hints(kind)
    if unknown := sorted(table.keys() - hints.keys()):
        raise ValueError(f"{where}: unknown key '{unknown[0]}'; the keys are: {', '.join(hints)}")
    for field in fields(cast(Any, kind)):
        if field.name not in table and field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{where}: the key '{field.name}' is missing")
    return kind(**{key: _value(hints[key], value, f"{where}: {key}") for key, value in table.items()})


def _value(hint: Any, value: Any, where: str) -> Any:
    """Turn a TOML value into one of the given type. Whole numbers may stand for others, as in Python."""
    origin, parts = get_origin(hint), get_args(hint)
    if is_dataclass(hint) and isinstance(value, dict):
        return _build(cast(type[Any], hint), value, where)
    if origin is UnionType:
        (other,) = (part for part in parts if part is not NoneType)
        return _value(other, value, where)
    if origin is tuple and isinstance(value, list):
        if parts[-1] is ...:
            return tuple(_value(parts[0], item, f"{where}[{number}]") for number, item in enumerate(value))
        if len(value) == len(parts):
            return tuple(_value(part, item, where) for part, item in zip(parts, value, strict=True))
    if origin is dict and isinstance(value, dict):
        return {key: _value(parts[1], item, f"{where}.{key}") for key, item in value.items()}
    allowed = {float: (float, int), int: (int,), str: (str,), bool: (bool,), date: (date,)}.get(hint, ())
    if isinstance(value, allowed) and (hint is bool or not isinstance(value, bool)):
        return value
    raise ValueError(f"{where} must be {getattr(hint, '__name__', hint)}, not {value!r}")
