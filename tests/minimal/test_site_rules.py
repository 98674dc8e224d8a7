"""A site's rules in cluster.toml for its checks, reasons, codes and lines, and the list of signals without a rule."""

from assets.rows import rows_of
from assets.site_rules import LISTED, Signal, pattern_of_line, toml_text
from tests.logs import Cluster, at
from tests.minimal.reading import ask, causes

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
    """Logs of checks, reasons and codes that only the site knows. Each failed job has a node with one of them."""
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
    """Logs of a check that still fails while a second job starts and fails on the node."""
    cluster = Cluster(settings).job(1, "n1", at(1), at(10), "FAILED").job(2, "n1", at(10, minutes=30), at(12), "FAILED")
    for minute in range(0, 125, 5):
        cluster.check("n1", at(9, minutes=55 + minute), "my_disk_state", message="read only")
    return cluster.check("n1", at(3), "my_disk_state", result=0)


SHAPE = "acmegpu #: tensor engine # stuck, fence # lost"
RULE = f"[[kernel.rules]]\npattern = {toml_text(pattern_of_line(SHAPE))}\n"
CONTROLLER_RULE = """
[[kernel.rules]]
pattern = "^fabric manager: lost node"
category = "ib_link"
"""


def with_a_new_accelerator(settings=""):
    """Twenty jobs on four nodes. The line of a new driver comes before six failed jobs and one completed job.

    Another error line comes before each of them. The controller names the node of one more failed job.
    """
    cluster = Cluster(settings).inventory("n[1-4]")
    for number in range(1, 21):
        node, is_failed = f"n{number % 4 + 1}", number <= 6
        state = "FAILED" if is_failed else "COMPLETED"
        cluster.job(number, node, at(1, days=number), at(10, days=number), state)
        cluster.kernel(node, at(9, days=number, minutes=58), f"ACPI Error: no table {number}")
        if number <= 7:
            text = f"acmegpu 0000:{number:02x}:00.0: tensor engine {number} stuck, fence 0x{number}f LOST"
            cluster.kernel(node, at(9, days=number, minutes=59), text)
    cluster.job(21, "n1", at(1, days=21), at(10, days=21), "FAILED")
    return cluster.slurmctld(at(9, days=21, minutes=59), "error: fabric manager: lost node n1")


CLUSTERS = {
    "site-rules": strange(RULES),
    "site-without-rules": strange(),
    "check-not-sticky": failing_on(RULES),
    "check-sticky": failing_on(RULES.replace("sticky = false", "sticky = true")),
    "new-driver": with_a_new_accelerator(),
    "new-driver-pasted": with_a_new_accelerator(f'{RULE}category = "config"\n'),
    "new-driver-mapped": with_a_new_accelerator(f'{RULE}category = "gpu_unavailable"\n{CONTROLLER_RULE}'),
}


def test_the_sites_meanings_become_evidence_and_cause(minimal):
    assert causes(minimal, "site-rules") == {1: "ib_link", 2: "pcie", 3: "gpu_memory", 4: "host_hardware"}


def test_the_first_rule_that_fits_holds(minimal):
    checks = "check_name, severity, evidence_class from marts.fct_health_events where source = 'health_check'"
    assert ask(minimal, "site-rules", f"{checks} order by check_name") == [
        ("my_ib_probe", "high", "A"), ("my_link_probe", "low", "A"),
    ]  # fmt: skip
    planned = "node_id, is_planned from marts.fct_node_outages order by node_id"
    assert ask(minimal, "site-rules", planned) == [("n4", False), ("n5", True), ("n6", True)]


def test_what_no_rule_knows_explains_nothing_and_is_listed(minimal):
    assert causes(minimal, "site-without-rules") == {}
    listed = "kind, signal, event_count, node_count, example_path, example_line_number from marts.agg_unmapped_signals"
    checks, events = ("site-without-rules/" + path for path in ("health/health_checks.jsonl", "events/events.psv"))
    assert ask(minimal, "site-without-rules", f"{listed} order by kind, signal") == [
        ("check", "my_ib_probe", 1, 1, checks, 1),
        ("check", "my_link_probe", 1, 1, checks, 2),
        ("node_reason", "dead blower tray in rack #", 1, 1, events, 2),
        ("node_reason", "moved to rack #", 2, 2, events, 3),
        ("xid", "199", 1, 1, "site-without-rules/kernel/kern.log", 1),
    ]
    assert ask(minimal, "site-rules", "signal from marts.agg_unmapped_signals") == []


def test_only_a_check_that_is_not_sticky_speaks_again_while_it_fails_on(minimal):
    assert causes(minimal, "check-sticky") == {1: "block_device"}
    assert causes(minimal, "check-not-sticky") == {1: "block_device", 2: "block_device"}
    for cluster, count in (("check-sticky", 1), ("check-not-sticky", 25)):
        assert ask(minimal, cluster, "count(*) from marts.fct_health_events") == [(count,)]


def unknown(minimal, cluster):
    """Return the lines of a cluster that no rule knows, those with the strongest evidence first."""
    return [row for row in rows_of(minimal, LISTED) if row["cluster_id"] == cluster]


def test_error_lines_that_no_rule_knows_are_listed_the_telling_ones_first(minimal):
    """The first comes before six of seven failed ends and one of fourteen completed ones."""
    assert causes(minimal, "new-driver") == {}
    found = unknown(minimal, "new-driver")
    assert [(row["kind"], row["signal"], row["event_count"], row["node_count"]) for row in found] == [
        ("kernel", SHAPE, 7, 4),
        ("kernel", "acpi error: no table #", 20, 4),
        ("kernel", "fabric manager: lost node n#", 1, 1),
    ]
    first, always, _ = found
    assert (round(first["failed_end_ratio"], 3), round(first["completed_end_ratio"], 3)) == (0.857, 0.071)
    assert 1 < first["ratio_low"] < first["ratio"] == 12 < first["ratio_high"]
    assert "85.7% of failed and of 7.14% of completed attempts: 12 times as often" in Signal.of(first).before_ends
    assert always["ratio_low"] < 1 < always["ratio_high"]


def test_a_rule_that_is_pasted_causes_nothing_and_one_with_a_category_does(minimal):
    assert causes(minimal, "new-driver-pasted") == {}
    assert SHAPE not in [row["signal"] for row in unknown(minimal, "new-driver-pasted")]
    mapped = dict.fromkeys(range(1, 7), "gpu_unavailable") | {21: "ib_link"}
    assert causes(minimal, "new-driver-mapped") == mapped
    events = "source, check_name, failure_category, count(*) from marts.fct_health_events "
    events += "where cluster_id = $cluster group by all order by all"
    assert ask(minimal, "new-driver-mapped", events) == [
        ("kernel", f"site_rule: {pattern_of_line(SHAPE)}", "gpu_unavailable", 7),
        ("slurmctld", "node reason", "ib_link", 1),
    ]
