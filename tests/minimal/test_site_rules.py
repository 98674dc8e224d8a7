"""What a site says in cluster.toml of its own checks, reasons and Xids, and what is listed where it says nothing."""

from tests.logs import Cluster, at

RULES = """
[[health.checks]]
name = "My_IB_Probe"
category = "ib_link"
severity = "high"
[[health.checks]]
pattern = "^my_.*_probe$"
category = "pcie"
[[health.checks]]
name = "my_disk_state"
category = "block_device"
sticky = false
[[node_reasons]]
pattern = "dead .* in rack"
category = "host_hardware"
[[node_reasons]]
pattern = "dead|moved"
planned = true
[[xids]]
code = 199
category = "gpu_memory"
"""


def strange(settings=""):
    """Logs of checks, reasons and codes that only the site knows; each failed job has one node with one of them."""
    cluster = Cluster(settings).inventory("n[1-6]")
    for number in range(1, 7):
        cluster.job(number, f"n{number}", at(1), at(10), "FAILED")
    cluster.check("n1", at(9, minutes=55), "my_ib_probe", message="no answer from leaf 7")
    cluster.check("n2", at(9, minutes=55), "my_link_probe", message="no answer")
    cluster.kernel("n3", at(9, minutes=59), "NVRM: Xid (PCI:0000:9b:00): 199, new kind of error")
    cluster.event("n4", at(9, minutes=58), at(12), "DOWN", "Dead blower tray in rack 7")
    cluster.event("n5", at(9, minutes=58), at(12), "DOWN", "moved to rack 12")
    cluster.event("n6", at(30), at(31), "DOWN", "moved to rack 9")
    return cluster


def failing_on(settings):
    """Logs of a check that goes on failing while a second job starts and fails on the node."""
    cluster = Cluster(settings).job(1, "n1", at(1), at(10), "FAILED").job(2, "n1", at(10, minutes=30), at(12), "FAILED")
    for minute in range(0, 125, 5):
        cluster.check("n1", at(9, minutes=55 + minute), "my_disk_state", message="read only")
    return cluster.check("n1", at(3), "my_disk_state", result=0)


CLUSTERS = {
    "site-rules": strange(RULES),
    "site-without-rules": strange(),
    "check-not-sticky": failing_on(RULES),
    "check-sticky": failing_on(RULES.replace("sticky = false", "sticky = true")),
}


def causes(minimal, cluster):
    return dict(
        minimal.execute(
            "select job_id_raw, failures.failure_category from marts.fct_failures as failures "
            "inner join marts.fct_attempts using (cluster_id, attempt_id) where cluster_id = $cluster",
            {"cluster": cluster},
        ).fetchall()
    )


def test_the_sites_meanings_become_evidence_and_cause(minimal):
    assert causes(minimal, "site-rules") == {1: "ib_link", 2: "pcie", 3: "gpu_memory", 4: "host_hardware"}


def test_the_first_rule_that_fits_holds(minimal):
    found = minimal.execute(
        "select check_name, severity, evidence_class from marts.fct_health_events "
        "where cluster_id = 'site-rules' and source = 'health_check' order by 1"
    ).fetchall()
    assert found == [("my_ib_probe", "high", "A"), ("my_link_probe", "low", "A")]
    planned = minimal.execute(
        "select node_id, is_planned from marts.fct_node_outages where cluster_id = 'site-rules' order by 1"
    ).fetchall()
    assert planned == [("n4", False), ("n5", True), ("n6", True)]


def test_without_rules_they_explain_nothing_and_are_listed(minimal):
    assert causes(minimal, "site-without-rules") == {}
    found = minimal.execute(
        "select kind, signal, event_count, node_count, example, example_path, example_line_number "
        "from marts.agg_unmapped_signals where cluster_id = 'site-without-rules' order by all"
    ).fetchall()
    place, reason = "site-without-rules/", "dead blower tray in rack #"
    assert found == [
        ("check", "my_ib_probe", 1, 1, "no answer from leaf 7", f"{place}health/health_checks.jsonl", 1),
        ("check", "my_link_probe", 1, 1, "no answer", f"{place}health/health_checks.jsonl", 2),
        (
            "node_reason",
            reason,
            1,
            1,
            "Dead blower tray in rack 7",
            f"{place}events/events.psv",
            2,
        ),
        ("node_reason", "moved to rack #", 2, 2, "moved to rack 12", f"{place}events/events.psv", 3),
        ("xid", "199", 1, 1, found[4][4], f"{place}kernel/kern.log", 1),
    ]


def test_what_the_site_has_mapped_is_not_listed(minimal):
    assert (
        minimal.execute("select signal from marts.agg_unmapped_signals where cluster_id = 'site-rules'").fetchall()
        == []
    )


def test_only_a_check_that_is_not_sticky_speaks_again_while_it_fails_on(minimal):
    assert causes(minimal, "check-sticky") == {1: "block_device"}
    assert causes(minimal, "check-not-sticky") == {1: "block_device", 2: "block_device"}
    counts = dict(
        minimal.execute(
            "select cluster_id, count(*) from marts.fct_health_events where cluster_id like 'check-%sticky' group by 1"
        ).fetchall()
    )
    assert counts == {"check-sticky": 1, "check-not-sticky": 25}
