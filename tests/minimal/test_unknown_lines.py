"""A driver that no rule knows: its lines stand first, with how often they precede failures, and one rule maps them."""

from assets.rows import rows_of
from assets.site_rules import LISTED, Signal, lines_of, pattern_of_line, toml_text
from tests.logs import Cluster, at

SHAPE = "acmegpu #: tensor engine # stuck, fence # lost"
RULE = f"[[kernel.rules]]\npattern = {toml_text(pattern_of_line(SHAPE))}\n"
CONTROLLER_RULE = """
[[kernel.rules]]
pattern = "^fabric manager: lost node"
category = "ib_link"
"""


def with_a_new_accelerator(settings=""):
    """Twenty jobs on four nodes: before the six that fail and one that completes stands the line of a new driver.

    Another error line stands before each of them. The controller names the node of one more failed job.
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
    "new-driver": with_a_new_accelerator(),
    "new-driver-pasted": with_a_new_accelerator(f'{RULE}category = "config"\n'),
    "new-driver-mapped": with_a_new_accelerator(f'{RULE}category = "gpu_unavailable"\n{CONTROLLER_RULE}'),
}


def causes(minimal, cluster):
    return dict(
        minimal.execute(
            "select job_id_raw, failures.failure_category from marts.fct_failures as failures "
            "inner join marts.fct_attempts using (cluster_id, attempt_id) where cluster_id = $cluster",
            {"cluster": cluster},
        ).fetchall()
    )


def unknown(minimal, cluster):
    return [row for row in rows_of(minimal, LISTED) if row["cluster_id"] == cluster]


def test_error_lines_that_no_rule_knows_are_listed_the_telling_ones_first(minimal):
    assert causes(minimal, "new-driver") == {}
    found = unknown(minimal, "new-driver")
    assert [(row["kind"], row["signal"], row["event_count"], row["node_count"]) for row in found] == [
        ("kernel", SHAPE, 7, 4),
        ("kernel", "acpi error: no table #", 20, 4),
        ("kernel", "fabric manager: lost node n#", 1, 1),
    ]
    first, always, _ = found
    assert (round(first["failed_end_ratio"], 3), round(first["completed_end_ratio"], 3)) == (0.857, 0.071)
    assert first["ratio"] == 12
    assert 1 < first["ratio_low"] < 12 < first["ratio_high"]
    assert always["ratio_low"] < 1 < always["ratio_high"]


def test_the_lines_to_paste_say_where_they_stand_and_cause_nothing(minimal):
    (first, *_) = unknown(minimal, "new-driver")
    comment, *lines = lines_of(Signal.of(first))
    assert comment.startswith("# 7 lines on 4 nodes, 2024-05-02 to 2024-05-08, first in new-driver/kernel/kern.log:2; ")
    assert "before 85.7% of failed ends and 7.14% of completed ones, 12 times (" in comment
    assert "\n".join(lines[:2]) + "\n" == RULE
    assert lines[2].startswith('category = "config"')
    assert causes(minimal, "new-driver-pasted") == {}
    assert SHAPE not in [row["signal"] for row in unknown(minimal, "new-driver-pasted")]


def test_a_rule_with_a_category_attributes_the_failures(minimal):
    assert causes(minimal, "new-driver-mapped") == {
        **dict.fromkeys(range(1, 7), "gpu_unavailable"),
        21: "ib_link",
    }
    events = minimal.execute(
        "select source, check_name, failure_category, count(*) from marts.fct_health_events "
        "where cluster_id = 'new-driver-mapped' group by all order by all"
    ).fetchall()
    assert events == [
        ("kernel", f"site_rule: {pattern_of_line(SHAPE)}", "gpu_unavailable", 7),
        ("slurmctld", "node reason", "ib_link", 1),
    ]
