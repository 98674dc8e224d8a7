"""The graph of models: each layer reads the layers before it, and no chain of models is long."""

import json
from functools import cache

import pytest

from orchestration.dbt.build import manifest_of, prepare
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home

MAX_DEPTH = {"staging": 1, "intermediate": 12, "marts": 12, "inputs": 18}
"""Models of the longest chain that ends in a layer. A longer one makes each change reach further."""
LAYERS = {
    "staging": {"raw", "ops"},
    "intermediate": {"staging", "intermediate", "seeds"},
    "marts": {"staging", "intermediate", "seeds", "marts"},
    "inputs": {"staging", "intermediate", "seeds", "marts", "inputs", "ops"},
}
"""The layers that the models of a layer read."""


@pytest.fixture(scope="module")
def nodes(tmp_path_factory):
    """Every node of the parsed project by its id, with its layer and its inputs."""
    home = Home.at(tmp_path_factory.mktemp("home"))
    prepare(HomeSettings(home))
    manifest = json.loads(manifest_of(home).read_bytes())
    sources = {key: (node["schema"], []) for key, node in manifest["sources"].items()}
    return sources | {
        key: (node["schema"], node["depends_on"].get("nodes", [])) for key, node in manifest["nodes"].items()
    }


def test_a_layer_reads_no_later_one(nodes):
    wrong = {
        f"{key} reads {read}"
        for key, (layer, reads) in nodes.items()
        for read in reads
        if key.startswith("model.") and nodes[read][0] not in LAYERS[layer]
    }
    assert wrong == set()


@pytest.mark.parametrize("layer", MAX_DEPTH)
def test_no_chain_of_models_is_long(nodes, layer):
    @cache
    def longest(key):
        chains = [longest(read) for read in nodes[key][1] if read.startswith("model.")]
        return [*max(chains, key=len, default=[]), key]

    of_layer = (key for key, (own, _) in nodes.items() if key.startswith("model.") and own == layer)
    chain = max((longest(key) for key in of_layer), key=len)
    assert len(chain) <= MAX_DEPTH[layer], " -> ".join(chain)
