"""Places of nodes, from Slurm's `topology.conf` and `scontrol show topology`.

A node of a tree is attached to the switch that names it; switches of switches are skipped. A block of `topology/block`
is a group of nodes connected by NVLink.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from assets.sources.other_forms import SetAside, Translation, holds
from assets.sources.reader import SourceFile
from assets.sources.settings import ClusterSettings
from assets.sources.text.nodelists import NodeListError
from assets.sources.text.text_lines import lines_of
from assets.sources.translations.node_lines import MAX_NAMED, Node, node_line, node_names
from assets.sources.translations.slurm_conf import configuration_lines

_LINES = re.compile(r"^[ \t]*(?:SwitchName|BlockName|BlockSizes|AggregatedBlock)\s*=", re.M | re.I)


def _translate(pieces: Iterator[str], file: SourceFile, cluster: ClusterSettings) -> Iterator[str | SetAside]:
    """Yield the nodes of each leaf switch and block as lines."""
    named = 0
    for line in configuration_lines(lines_of(pieces)):
        text, options = line.text, line.options
        switch, block, nodes = (options.get(key) for key in ("switchname", "blockname", "nodes"))
        # `scontrol show topology` also prints all nodes below a switch of switches.
        if not nodes or not (switch or block) or options.get("level", "0") != "0":
            yield SetAside(text, "comment" if text.startswith("#") else "not_relevant" if text else "blank")
            continue
        try:
            names = node_names(nodes)
        except NodeListError as error:
            yield SetAside(text, error.reason, str(error))
            continue
        named += len(names)
        if named > MAX_NAMED:
            yield SetAside(text, "nodelist_too_large", f"the lines up to here name {named} nodes by lists")
        else:
            yield from (node_line(Node(name, switch=switch, nvlink_domain=block)) for name in names)


_TREE = """SwitchName=leaf1 Nodes=gpu[001-016]
SwitchName=spine Switches=leaf1
"""
FORMS = (Translation("slurm_topology", "inventory", holds(_LINES, in_json=False), _translate, _TREE),)
