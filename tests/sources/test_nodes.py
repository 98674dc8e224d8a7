"""Node lists and node names, as Slurm prints them and as other logs name the same host."""

from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.sources.formats import READERS
from assets.sources.intake.account.node_names import HostNames, NodeNames, basic_name
from assets.sources.intake.find.known_files import forget_files
from assets.sources.settings import Nodes
from assets.sources.text.nodelists import MAXIMUM_HOSTS, NodeListError, expand
from tests.logs import export
from tests.sources.folders import connect, facts, load, make, rows

NUMBERS = st.lists(st.integers(0, 999), min_size=1, max_size=40, unique=True)
PREFIXES = st.from_regex(r"[a-z][a-z0-9_\-]{0,8}[a-z]", fullmatch=True)


def compress(prefix, numbers, width, suffix):
    """Write names as Slurm does: runs of numbers as ranges."""
    runs = []
    for number in sorted(numbers):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    inside = ",".join(f"{low:0{width}d}" if low == high else f"{low:0{width}d}-{high:0{width}d}" for low, high in runs)
    return f"{prefix}[{inside}]{suffix}"


@settings(max_examples=200, deadline=None)
@given(prefix=PREFIXES, numbers=NUMBERS, width=st.sampled_from([1, 3, 4]), suffix=st.sampled_from(["", "-ib", ".hpc"]))
def test_what_is_compressed_expands_again(prefix, numbers, width, suffix):
    names = [f"{prefix}{number:0{width}d}{suffix}" for number in sorted(numbers)]
    assert expand(compress(prefix, numbers, width, suffix)) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("r[1-2]n[01-02]", ["r1n01", "r1n02", "r2n01", "r2n02"]),
        ("a,b[1,3],c", ["a", "b1", "b3", "c"]),
        ("n[9-11]", ["n9", "n10", "n11"]),
        ("n[099-101]", ["n099", "n100", "n101"]),
        ("None assigned", []),
        ("(null)", []),
        ("n1,n1", ["n1"]),
    ],
)
def test_expand(text, names):
    assert expand(text) == names


@pytest.mark.parametrize("text", ["n[1-2", "n1]", "n[[1]]", "n[a-b]", "n[3-1]", "a,,b", "n 1", "n[]", "a|b"])
def test_a_bad_list(text):
    with pytest.raises(NodeListError) as caught:
        expand(text)
    assert caught.value.reason == "bad_nodelist"


@pytest.mark.parametrize(
    "text", [f"n[1-{MAXIMUM_HOSTS + 1}]", "a[1-1000]b[1-1000]", "n[1-99999999999]", "a[1-60000],b[1-60000]"]
)
def test_a_list_too_large(text):
    with pytest.raises(NodeListError) as caught:
        expand(text)
    assert caught.value.reason == "nodelist_too_large"


RULES = Nodes(
    aliases={"Storage-A": "gpu007", "old3": "gpu003", "old4.cluster.local": "gpu004"}, strip_suffixes=["-ib0", "-ib"]
)


@pytest.mark.parametrize(
    ("name", "basic"),
    [
        ("GPU001", "gpu001"),
        ("gpu001-ib", "gpu001"),
        ("gpu001-ib0", "gpu001"),
        ("gpu001-ib0.cluster.local", "gpu001.cluster.local"),
        ("storage-a", "gpu007"),
        ("OLD3-ib", "gpu003"),
        ("old3.cluster.local", "gpu003"),
        ("old3-ib0.cluster.local", "gpu003"),
        ("old4.cluster.local", "gpu004"),
        ("old4.b", "old4.b"),
        ("-ib", "-ib"),
    ],
)
def test_basic_name(name, basic):
    assert basic_name(name, RULES) == basic


@pytest.mark.parametrize(
    ("declared", "name", "node_id"),
    [
        (["gpu001"], "GPU001.cluster.local", "gpu001"),
        (["gpu001"], "gpu001-ib.cluster.local", "gpu001"),
        (["gpu001"], "login1", None),
        (["gpu001.a", "gpu002.a"], "gpu002", "gpu002.a"),
        (["gpu001.a", "gpu001.b"], "gpu001", None),
        (["gpu001.a", "gpu001.b"], "gpu001.b", "gpu001.b"),
        (["gpu001.a", "gpu001"], "gpu001.a", "gpu001"),
        (["gpu001"], "gpu001.a", "gpu001"),
        (["gpu001"], "10.0.0.1", None),
        ([], "Anything", "anything"),
    ],
)
def test_resolve(declared, name, node_id):
    assert NodeNames(declared, RULES).resolve(name) == node_id


def on(day):
    """Midnight of a day of May 2024."""
    return datetime(2024, 5, day)


@pytest.mark.parametrize(
    ("snapshots", "name", "expected"),
    [
        # From one snapshot to the next. The first also holds before it, the last after it.
        ([("n1", 2, "h1"), ("n1", 5, "h2")], "h1", {1: "n1", 4: "n1", 5: None}),
        ([("n1", 2, "h1"), ("n1", 5, "h2")], "h2", {4: None, 5: "n1", 9: "n1"}),
        # A host that moves from one node to another. Before the first snapshot it belongs to its first node.
        ([("n1", 2, "h1"), ("n1", 5, "h2"), ("n2", 5, "h1")], "h1", {1: "n1", 4: "n1", 5: "n2"}),
        # Two nodes with one host at once are ambiguous.
        ([("n1", 2, "h1"), ("n2", 2, "h1")], "h1", {1: None, 4: None}),
        ([("n1", 2, "h1"), ("n2", 4, "h1"), ("n2", 6, "h2")], "h1", {3: "n1", 4: None, 6: "n1"}),
        # A node without a host has none.
        ([("n1", 2, "h1"), ("n1", 5, None)], "h1", {4: "n1", 5: None}),
        # A log may omit the domain of a host. Addresses have no domain.
        ([("n1", 2, "h1.example.org")], "h1", {4: "n1"}),
        ([("n1", 2, "h1")], "h1.example.org", {4: "n1"}),
        ([("n1", 2, "10.0.0.5")], "10.0.0.5", {4: "n1"}),
        ([("n1", 2, "10.0.0.5")], "10", {4: None}),
        ([("n1", 2, "10.0.0.5")], "10.0.0.6", {4: None}),
        # Every host has this name for itself.
        ([("n1", 2, "localhost")], "localhost", {4: None}),
        ([("n1", 2, "127.0.0.1")], "127.0.0.1", {4: None}),
    ],
)
def test_a_host_is_a_node_from_one_snapshot_to_the_next(snapshots, name, expected):
    hosts = HostNames((node, on(day), [host] if host else []) for node, day, host in snapshots)
    found = {
        day: next((spell.node_id for spell in hosts.spells(name) if spell.from_at <= on(day) < spell.to_at), None)
        for day in expected
    }
    assert found == expected


def test_logs_may_name_the_host_of_a_node_until_it_gets_another(tmp_path):
    """A node name wins: n2 is a node, though n1 had a host of that name. Names in no snapshot are unknown."""
    moments = [1, 3, 5]
    hosts = ["ip-1", "ip-2", "n2"]
    files = {"c1/sacct/a.txt": export([{"NodeList": "n[1-2]"}])}
    for day, host in zip(moments, hosts, strict=True):
        files[f"c1/inventory/nodes.2024-05-0{day}.txt"] = (
            f"NodeName=n1 CPUTot=8 NodeAddr=10.0.0.{day} NodeHostName={host} State=IDLE\n"
            "NodeName=n2 CPUTot=8 NodeAddr=n2 NodeHostName=n2 State=IDLE\n"
        )
    names = [(1, "ip-1"), (2, "ip-1.ec2.internal"), (4, "ip-1"), (4, "ip-2"), (4, "10.0.0.3"), (6, "n2"), (6, "ip-9")]
    files["c1/kernel/k.log"] = "".join(
        f"2024-05-0{day}T12:{minute:02}:00+00:00 {name} kernel: NVRM: Xid (PCI:0000:10:1c): 79, pid=1, off the bus\n"
        for minute, (day, name) in enumerate(names)
    )
    con = load(make(tmp_path, files), readers=READERS)
    query = "select node_id, disposition from raw.kernel_messages order by line_number"
    known = ["n1", "n1", None, "n1", "n1", "n2", None]
    assert [row["node_id"] for row in rows(con, query)] == known
    assert [row["disposition"] for row in rows(con, query)] == [
        "loaded" if node_id else "unknown_node" for node_id in known
    ]
    assert {row["detail"] for row in rows(con, "select detail from ops.quarantine")} == {"ip-1", "ip-9"}

    # A later snapshot says that n1 had its first host again for a day, and all rows follow.
    again = "NodeName=n1 CPUTot=8 NodeAddr=10.0.0.1 NodeHostName=ip-1 State=IDLE\n"
    make(tmp_path, {"c1/inventory/nodes.2024-05-04.txt": again})
    load(tmp_path, con, readers=READERS)
    assert [row["node_id"] for row in rows(con, query)] == ["n1", "n1", "n1", None, None, "n2", None]


EVENTS = (
    "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n"
    "c1|GPU001.cluster.local|2024-05-01T10:00:00|2024-05-01T11:00:00|DOWN|x|root(0)\n"
    "c1|login1|2024-05-01T10:00:00|2024-05-01T11:00:00|DOWN|y|root(0)\n"
)


def test_an_unknown_host_is_kept_and_counted_until_accounting_makes_it_known(tmp_path):
    files = {"c1/sacct/a.txt": export([{"NodeList": "gpu[001-002]"}]), "c1/events/e.psv": EVENTS}
    con = load(make(tmp_path, files), readers=READERS)
    found = con.execute("select node_name, node_id, disposition from raw.node_events order by line_number").fetchall()
    assert found == [("GPU001.cluster.local", "gpu001", "loaded"), ("login1", None, "unknown_node")]
    unknown = [(3, "unknown_node", "login1", EVENTS.splitlines()[2])]
    assert con.execute("select line_number, reason, detail, raw from ops.quarantine").fetchall() == unknown
    account = con.execute("select loaded, skipped, quarantined from ops.files where kind = 'events'").fetchall()
    assert account == [(1, 1, 1)]
    make(tmp_path, {"c1/sacct/b.txt": export([{"JobID": "52", "NodeList": "login1"}])})
    load(tmp_path, con, readers=READERS)
    at_once = load(tmp_path, readers=READERS)
    for table in ("raw.node_events", "raw.node_names", "ops.quarantine", "ops.skips"):
        query = f"select * from {table} order by all"
        assert con.execute(query).fetchall() == at_once.execute(query).fetchall()
    assert con.execute("select count(*) from ops.quarantine").fetchone() == (0,)
    (tmp_path / "c1/sacct/b.txt").unlink()
    forget_files(con, READERS["sacct"], [("c1", "c1/sacct/b.txt")])
    load(tmp_path, con, readers=READERS)
    assert con.execute("select line_number, reason, detail, raw from ops.quarantine").fetchall() == unknown


def warnings(con):
    """The warnings of the accounting files, by path."""
    return dict(con.execute("select path, warnings from ops.files where kind = 'sacct' order by path").fetchall())


def test_an_excluded_node_that_nothing_names_is_counted_beside_its_file(tmp_path):
    of_one = [
        {"NodeList": "gpu[001-002]", "SubmitLine": "sbatch -x gpu001,gpu9 a.sh"},
        {"JobID": "52", "NodeList": "gpu001", "SubmitLine": "sbatch -x gpu9 a.sh"},
    ]
    of_many = [{"JobID": "53", "NodeList": "gpu001", "SubmitLine": "sbatch -x gpu9,old[1-7] a.sh"}]
    files = {
        "c1/sacct/many.txt": export(of_many),
        "c1/sacct/none.txt": export([{"JobID": "54", "NodeList": "gpu001"}]),
        "c1/sacct/one.txt": export(of_one),
        "c2/sacct/nodeless.txt": export(
            [{"Cluster": "c2", "NodeList": "None assigned", "SubmitLine": "sbatch -x gpu9 a.sh"}]
        ),
    }
    con = load(make(tmp_path, files), readers=READERS)
    assert warnings(con) == {
        "c1/sacct/many.txt": ["unknown_excluded_nodes: 8 (gpu9, old1, old2, old3, old4, ...)"],
        "c1/sacct/none.txt": [],
        "c1/sacct/one.txt": ["unknown_excluded_nodes: 1 (gpu9)"],
        # without a list of nodes, no node is unknown
        "c2/sacct/nodeless.txt": [],
    }
    assert con.execute("select sum(loaded), sum(quarantined) from ops.files").fetchone() == (5, 0)
    make(tmp_path, {"c1/inventory/nodes.txt": "NodeName=gpu9 Gres=gpu:8 State=IDLE+DRAIN\n"})
    load(tmp_path, con, readers=READERS)
    assert warnings(con) == {
        "c1/sacct/many.txt": ["unknown_excluded_nodes: 7 (old1, old2, old3, old4, old5, ...)"],
        "c1/sacct/none.txt": [],
        "c1/sacct/one.txt": [],
        "c2/sacct/nodeless.txt": [],
    }
    assert warnings(con) == warnings(load(tmp_path, readers=READERS))
    (tmp_path / "c1/inventory/nodes.txt").unlink()
    forget_files(con, READERS["inventory"], [("c1", "c1/inventory/nodes.txt")])
    load(tmp_path, con, readers=READERS)
    assert warnings(con)["c1/sacct/one.txt"] == ["unknown_excluded_nodes: 1 (gpu9)"]


def test_domains_in_accounting_are_dropped_once_the_short_name_is_known(tmp_path):
    long = [{"NodeList": "gpu[001-002].hpc", "FailedNode": "gpu001.hpc", "SubmitLine": "sbatch -x gpu002.hpc a.sh"}]
    short = [{"JobID": "52", "NodeList": "gpu[001-002]"}]
    con = connect()
    load(make(tmp_path, {"c1/sacct/a.txt": export(long)}), con)
    assert facts(con)[0][25] == ["gpu001.hpc", "gpu002.hpc"]
    load(make(tmp_path, {"c1/sacct/b.txt": export(short)}), con)
    found = rows(con, "select node_ids, failed_node_id, excluded_node_ids from raw.sacct order by job_id_raw")
    assert found[0] == {"node_ids": ["gpu001", "gpu002"], "failed_node_id": "gpu001", "excluded_node_ids": ["gpu002"]}
    assert facts(con) == facts(load(tmp_path))


def test_what_all_logs_together_rule_out_is_quarantined(tmp_path):
    """A clock at the year 2000 made a run of 24 years. A node list is much longer than the inventory."""
    long = {"JobID": "52", "Submit": "2000-01-01T00:00:00", "Start": "2000-01-01T00:00:00", "ElapsedRaw": ""}
    crowd = {"JobID": "53", "NNodes": "100000", "NodeList": "n[1-100000]"}
    large = {"JobID": "54", "NNodes": "2048", "NodeList": "n[1-2048]"}
    folder = make(tmp_path, {"c1/sacct/a.psv": export([{}, long, crowd, large])})
    readers = {name: READERS[name] for name in ("sacct", "inventory")}
    con = load(folder, readers=readers)
    found = "select line_number, reason, detail from ops.quarantine order by all"
    of_years = (3, "began_before_study", "2000-01-01 00:00:00 to 2024-05-01 11:00:00 (UTC) on 1 nodes")
    assert con.execute(found).fetchall() == [of_years]
    make(tmp_path, {"c1/inventory/nodes.txt": "NodeName=node001 Gres=gpu:a100:8 State=IDLE\n"})
    load(folder, con, readers)
    (_, (line, reason, _)) = con.execute(found).fetchall()
    assert (line, reason) == (4, "more_nodes_than_inventory")
    assert con.execute("select count(*) from raw.node_names").fetchall() == [(2049,)]
    (tmp_path / "c1/inventory/nodes.txt").write_text("NodeName=n[1-10000] Gres=gpu:a100:8 State=IDLE\n")
    load(folder, con, readers)
    assert con.execute(found).fetchall() == [of_years]


def test_an_inventory_of_one_partition_rules_out_no_job_of_another(tmp_path):
    """No inventory lists the nodes without GPUs. Their lists have ordinary length: 1,000 nodes allow 10,110."""
    parts = [{"JobID": str(number), "NNodes": "500", "NodeList": f"c[{500 * number + 1}-{500 * number + 500}]"}
             for number in range(2)]  # fmt: skip
    whole = {"JobID": "9", "NNodes": "4000", "NodeList": "c[1-4000]"}
    inventory = "NodeName=gpu1 Gres=gpu:a100:8 State=IDLE\n"
    files = {"c1/sacct/a.psv": export([*parts, whole]), "c1/inventory/nodes.txt": inventory}
    con = load(make(tmp_path, files), readers={name: READERS[name] for name in ("sacct", "inventory")})
    assert con.execute("from ops.quarantine").fetchall() == []
    assert con.execute("select count(*) from raw.node_names").fetchall() == [(4001,)]
