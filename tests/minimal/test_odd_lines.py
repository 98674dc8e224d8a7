"""Odd lines stop nothing: clusters full of them are published with the others, and every line is accounted for."""

import pytest

from tests.logs import Cluster, at, result_line
from tests.minimal.reading import ask

LONG_NUMBER = "9223372036854775807"
TICKETS = "ticket_id,node,opened,closed,component,action,status,summary"


def good(settings: str = "") -> Cluster:
    """A hundred jobs on four nodes, so that one odd record is a hundredth of all."""
    cluster = Cluster(settings).inventory("n[1-4]")
    for number in range(1, 101):
        cluster.job(number, "n[1-2]", at(number), at(number, minutes=50))
    return cluster.job(101, "n[3-4]", at(101), at(102), "NODE_FAIL")


CLUSTERS = {
    "odd-evidence": good()
    .file("health/health.jsonl", result_line("n1", 1714525200.0, "check_ib", 2, started=1714525200.8))
    .kernel("n3", at(101, minutes=59), "NVRM: Xid (PCI:0000:07:00): 79, pid=1, GPU has fallen off the bus.")
    .file(
        "kernel/odd.log",
        "1970-01-01T00:00:09+00:00 n1 kernel: NVRM: Xid (PCI:0000:07:00): 79, pid=1, GPU has fallen off the bus.",
        "2038-01-19T03:14:08+00:00 n1 kernel: NVRM: Xid (PCI:0000:07:00): 79, pid=1, GPU has fallen off the bus.",
        "2098-01-01T00:00:00+00:00 n1 kernel: Linux version 5.15.0 (builder@host) #1 SMP",
        "2024-05-01T03:00:00+00:00 n1 kernel: NVRM: Xid (PCI:0000:07:00): 0, pid=1, no error",
        "2024-05-01T03:00:00+00:00 n1 kernel: NVRM: Xid (PCI:0000:07:00): 1234, pid=1, who knows",
        "2024-05-01T03:00:00+00:00 n2 kernel: NVRM: Xid (PCI:0000:07:00): 63, pid=1, row remapped",
    )
    .check("n1", at(3), "xid errors", message="XID error: 0")
    .file(
        "slurmctld/slurmctld.log",
        "[1970-01-01T00:00:09.000] error: Nodes n1 not responding, setting DOWN",
        "[2098-01-01T00:00:00.000] error: Nodes n1 not responding, setting DOWN",
        f"[2024-05-01T03:00:00.000] error: Nodes n[1-{'9' * 4300}] not responding, setting DOWN",
        "[2024-05-01T04:00:00.000] error: Nodes n1 not responding, setting DOWN",
    )
    .file(
        "tickets/tickets.csv",
        TICKETS,
        "1,n1,1970-01-01,2024-05-03,GPU,replaced,closed,odd",
        "2,n1,2024-05-02,9999-12-31,GPU,,open,for ever",
        "4,n2,2024-05-02,2024-05-03,GPU,replaced,closed,good",
    ),
    # More than a hundredth of the records are quarantined.
    "odd-accounting": good("[quarantine]\nmax_share = 0.05")
    .job(201, "", at(3), at(4))
    .job(202, "n1", at(5), at(4), submit=at(6))
    .job(203, "n1", at(5), at(6), ElapsedRaw=LONG_NUMBER)
    .job(205, "n[3-4]", at(103), at(104), AllocTRES="cpu=64,gres/gpu=500,node=1"),
    "no-node-lists": Cluster()
    .job(1, "n1", at(1), at(2), NodeList="")
    .job(2, "n1", at(3), at(4), NodeList="")
    .job(3, "n1", at(5), at(6), "NODE_FAIL", NodeList=""),
}


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_cluster_with_odd_lines_is_published_with_new_numbers(minimal, cluster):
    assert ask(minimal, cluster, "reason from ops.cluster_failures") == []
    assert ask(minimal, cluster, "is_stale from marts.dim_clusters") == [(False,)]
    assert ask(minimal, cluster, "count(*) from marts.fct_failures") == [(1,)]


def test_good_lines_among_odd_ones_count(minimal):
    found = ask(minimal, "odd-evidence", "distinct code from marts.fct_health_events where source = 'kernel'")
    assert {(79,), (63,)} <= {*found}


def test_every_line_of_every_cluster_is_accounted_for_and_no_check_fails(minimal):
    lost = "lines_in <> loaded + skipped + quarantined or (status = 'refused' and cluster_id <> 'sight-refused')"
    assert minimal.execute(f"select path from ops.files where {lost}").fetchall() == []
    failed = "select * from ops.checks where not passed and is_blocking and cluster_id is distinct from 'testbed'"
    assert minimal.execute(failed).fetchall() == []
