"""The inventory tells where nodes stand, if the profile has places; the truth names them."""

from dataclasses import replace

import pyarrow.parquet as pq

from assets.simulation import simulate
from assets.simulation.clusters import read_cluster


def test_nodes_stand_in_racks_and_at_switches(tmp_path):
    profile = replace(read_cluster("demo-llm"), cluster_id="placed", nodes_per_rack=4, nodes_per_switch=2)
    made = simulate(profile, tmp_path, days=1, scale=1 / 8).clusters[0]
    folder = made.sources / "inventory"
    assert (folder / "racks.csv").read_text().splitlines()[:6] == [
        "node,rack,position", "node001,r1,1", "node002,r1,2", "node003,r1,3", "node004,r1,4", "node005,r2,1",
    ]  # fmt: skip
    assert (folder / "topology.conf").read_text().splitlines() == [
        "SwitchName=leaf1 Nodes=node001,node002", "SwitchName=leaf2 Nodes=node003,node004",
        "SwitchName=leaf3 Nodes=node005,node006", "SwitchName=leaf4 Nodes=node007,node008",
        "SwitchName=spine Switches=leaf1,leaf2,leaf3,leaf4",
    ]  # fmt: skip
    truth = pq.read_table(made.truth / "nodes.parquet").to_pydict()
    assert truth["rack"] == ["r1"] * 4 + ["r2"] * 4
    assert truth["switch"][:3] == ["leaf1", "leaf1", "leaf2"]
    assert truth["position"] == ["1", "2", "3", "4"] * 2


def test_no_log_tells_places_that_a_profile_does_not_have(tmp_path):
    made = simulate(replace(read_cluster("demo-llm"), cluster_id="plain"), tmp_path, days=1, scale=1 / 8).clusters[0]
    assert [path.name for path in (made.sources / "inventory").iterdir()] == ["scontrol_node.txt"]
    assert set(pq.read_table(made.truth / "nodes.parquet")["rack"].to_pylist()) == {None}
