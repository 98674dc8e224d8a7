"""Nodes as `slurm.conf` defines them: its NodeName lines with their defaults, and the partitions that name them.

It says what nodes should have, and nothing about their state. Files that it includes are not opened: each include is
quarantined, with the advice to put the file into the same folder. `gres.conf` is often in the same folder. It does not
say which nodes exist, so all its lines are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

from assets.sources.errors import SourceError
from assets.sources.inventory.reader import MAX_PARTITIONS, is_list_of_partitions
from assets.sources.other_forms import SetAside, Translation, holds
from assets.sources.reader import SourceFile
from assets.sources.settings import ClusterSettings
from assets.sources.text.nodelists import NodeListError
from assets.sources.text.text_lines import lines_of
from assets.sources.translations.node_lines import MAX_NAMED, Node, node_line, node_names

MAX_LINES = 100_000
_TOO_MANY = f"the lines up to here name more than {MAX_NAMED:,} nodes by lists"
_OPTION = re.compile(r"(?<!\w)([A-Za-z]\w*)\s*=\s*(\"[^\"]*\"|\S+)")
_CONFIGURATION = re.compile(
    r"^[ \t]*(?:ClusterName|SlurmctldHost|ControlMachine|PartitionName|SelectType|AccountingStorageType)\s*=",
    re.M | re.I,
)
_OF_NO_NODES = re.compile(r"^[ \t]*(?:NodeName=\S+ +)?(?:Auto[dD]etect=|Name=\w+\b)", re.M)
_RANGES = re.compile(r"^[ \t]*NodeName=(?:DEFAULT\b|\S*\[)", re.M | re.I)


def _is_configuration(sample: str, _cluster: ClusterSettings) -> bool:
    """Return whether a sample is of slurm.conf, or of a part of it that defines nodes.

    One odd line among nodes in scontrol's form is not enough.
    """
    if is_list_of_partitions(sample):
        return False
    if _CONFIGURATION.search(sample):
        return True
    return " CPUTot=" not in sample and " Name=gpu" not in sample and _RANGES.search(sample) is not None


def _skip(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Skip every line."""
    for line in lines_of(pieces):
        text = line.strip()
        yield SetAside(line, "comment" if text.startswith("#") else "not_relevant" if text else "blank")


@dataclass
class ConfigurationLine:
    """A line, or several joined by backslashes, and its options by name in lower case."""

    texts: list[str]
    options: dict[str, str] = field(default_factory=dict)
    problem: str | None = None

    @property
    def text(self) -> str:
        """The joined line."""
        return " ".join(text.rstrip("\\").strip() for text in self.texts)


def _translate(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Yield the nodes as lines; other lines of the file are skipped."""
    lines = [*islice(configuration_lines(lines_of(pieces)), MAX_LINES + 1)]
    if len(lines) > MAX_LINES:
        what = f"unsupported_schema: more than {MAX_LINES:,} lines, so no slurm.conf"
        raise SourceError(file.path, what, "Take it out of the folder.")
    partitions = _partitions(lines)
    defaults: dict[str, str] = {}
    named = 0
    for line in lines:
        text, name = line.text, line.options.get("nodename")
        if not text or text.startswith("#"):
            yield SetAside(text, "comment" if text else "blank")
        elif re.match(r"include\b", text, re.I):
            yield SetAside(text, "include", "the included file is not opened: put it into the same folder")
        elif line.problem:
            yield SetAside(text, "nodelist_too_large", line.problem)
        elif name is None:
            yield SetAside(text, "not_relevant")
        elif name.upper() == "DEFAULT":
            defaults |= line.options
            yield SetAside(text, "not_relevant")
        else:
            nodes = list(_nodes(line, defaults | line.options, partitions)) if named <= MAX_NAMED else []
            named += len(nodes)
            yield from nodes or [SetAside(text, "nodelist_too_large", _TOO_MANY)]
        yield from (SetAside(more, "continuation") for more in line.texts[1:])


def configuration_lines(lines: Iterator[str]) -> Iterator[ConfigurationLine]:
    """Yield lines with their options; lines that end with a backslash are joined with the next."""
    begun: list[str] = []
    for text in lines:
        begun.append(text)
        if not text.rstrip().endswith("\\"):
            yield _of(begun)
            begun = []
    if begun:
        yield _of(begun)


def _of(texts: list[str]) -> ConfigurationLine:
    line = ConfigurationLine(texts)
    without_comment = re.split(r"(?<!\S)#", line.text, maxsplit=1)[0]
    line.options = {name.lower(): value.strip('"') for name, value in _OPTION.findall(without_comment)}
    return line


def _partitions(lines: list[ConfigurationLine]) -> dict[str, list[str]]:
    """Return the partitions of each node; the key for ALL is empty."""
    found: dict[str, list[str]] = {}
    full: set[str] = set()
    default, named = "", 0
    for line in lines:
        name, nodes = line.options.get("partitionname"), line.options.get("nodes", default)
        if name is None:
            continue
        if name.upper() == "DEFAULT":
            default = nodes
            continue
        if nodes in full:
            continue
        if named > MAX_NAMED:
            line.problem = _TOO_MANY
            continue
        try:
            members = [""] if nodes.upper() == "ALL" else node_names(nodes)
        except NodeListError:
            members = []
        named += len(members)
        kept = [found.setdefault(member, []) for member in members]
        for names in kept:
            if len(names) <= MAX_PARTITIONS:
                names.append(name)
        if all(len(names) > MAX_PARTITIONS for names in kept):
            full.add(nodes)
    return found


def _nodes(
    line: ConfigurationLine, options: dict[str, str], partitions: dict[str, list[str]]
) -> Iterator[str | SetAside]:
    if options.get("state", "").upper() == "FUTURE":
        yield SetAside(line.text, "not_relevant")
        return
    try:
        names = node_names(options["nodename"])
    except NodeListError as error:
        yield SetAside(line.text, error.reason, str(error))
        return
    hosts, addresses = (_of_each(options.get(option), len(names)) for option in ("nodehostname", "nodeaddr"))
    for name, host, address in zip(names, hosts, addresses, strict=True):
        node = Node(
            name,
            gres=options.get("gres", ""),
            cpus=options.get("cpus") or options.get("procs") or _product(options),
            memory=options.get("realmemory"),
            partitions=tuple(dict.fromkeys([*partitions.get("", []), *partitions.get(name, [])])),
            host_name=host,
            address=address,
        )
        yield node_line(node)


def _of_each(text: str | None, count: int) -> list[str | None]:
    """Return one name for each node of a line; None for each if the line has another number of names."""
    try:
        names = node_names(text) if text else []
    except NodeListError:
        names = []
    return [*names] if len(names) == count else [None] * count


def _product(options: dict[str, str]) -> int | None:
    """Return the CPUs of a node from its sockets, cores and threads."""
    sockets = options.get("sockets") or options.get("socketsperboard")
    numbers = [sockets, options.get("corespersocket"), options.get("threadspercore", "1"), options.get("boards", "1")]
    if not all(text and text.isascii() and text.isdigit() and len(text) < 6 for text in numbers):
        return None
    product = 1
    for text in numbers:
        product *= int(text or 1)
    return product


_EXAMPLE = """ClusterName=c1
NodeName=gpu[001-002] Gres=gpu:h100:8 CPUs=128
PartitionName=train Nodes=gpu[001-002]
"""
_WITHOUT_NODES = "AutoDetect=nvml\nNodeName=gpu[001-002] Name=gpu File=/dev/nvidia[0-7]\n"
FORMS = (
    Translation("other_conf", "inventory", holds(_OF_NO_NODES), _skip, _WITHOUT_NODES),
    Translation("slurm_conf", "inventory", _is_configuration, _translate, _EXAMPLE, rank=1),
)
