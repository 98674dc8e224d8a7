"""The text of the panels on a failure and on a node."""

import datetime as dt

import pytest
import yaml

from assets.report.explained.failures import NOT_SEEN, RULES, parts_of_failure
from orchestration.settings.home import DBT_PROJECT

START, END = dt.datetime(2025, 12, 6), dt.datetime(2026, 1, 2, 10)
FAILURE = {
    "attempt_id": "c:7:0", "attempt_number": 2, "job_id": "7", "job_name": "train", "user_name": "ann", "account": None,
    "runtime_seconds": 7200, "node_count": 2, "gpu_count": 16, "state": "FAILED", "failed_at": END,
    "label": "PCIe error", "failure_category": "pcie", "attribution_rule": "evidence_on_attempt_node",
    "is_attributed": True, "posterior_probability": 0.93, "has_coverage": True, "culprit_node_name": "n1",
    "is_culprit_named": False, "evidence_count": 1, "lost_gpu_hours": 8.0, "incident_other_count": 0,
    "source_path": "c/sacct/a.psv", "source_line_number": 5,
}  # fmt: skip
LOST = FAILURE | {
    "state": "NODE_FAIL", "label": "Node heartbeat loss", "failure_category": "node_fail_unattributed",
    "attribution_rule": "node_fail_named_node", "is_attributed": False, "posterior_probability": 1.0,
    "is_culprit_named": True, "evidence_count": 0,
}  # fmt: skip
EVENT = {
    "source": "kernel", "check_name": "xid", "node_name": "n1", "lag_seconds": -54.0, "message": "Xid 79",
    "label": "PCIe error", "failure_category": "pcie", "probability": 0.9, "source_path": "c/kernel/n1.log",
    "source_line_number": 1234,
}  # fmt: skip
ENTRY = EVENT | {
    "kind": "event", "observed_at": END, "until_at": None, "has_kernel_log": True, "failure_category": None
}  # fmt: skip
OUTAGE = ENTRY | {
    "kind": "outage", "check_name": "DOWN", "message": "Not responding", "lag_seconds": 0.0, "source": "slurm",
    "until_at": END + dt.timedelta(hours=3),
}  # fmt: skip
BOOT = ENTRY | {"check_name": "boot", "message": "Linux version 6"}
CLUSTER = {
    "checkpoint_minutes": 60.0, "has_kernel_messages": True, "has_health_checks": True, "has_node_events": True
}  # fmt: skip


def explained(failure=FAILURE, evidence=(EVENT,), around=(), node=None, **cluster):
    return dict(parts_of_failure(failure, list(evidence), list(around), node, CLUSTER | cluster))


def test_every_rule_has_its_sentence():
    spec = yaml.safe_load((DBT_PROJECT / "models/marts/fct_failures.yml").read_text(encoding="utf-8"))
    (test,) = [each["rows_are_valid"] for each in spec["models"][0]["data_tests"] if "rows_are_valid" in each]
    assert set(RULES) == set(test["arguments"]["accepted_values"]["attribution_rule"])


def test_a_failure_stands_with_its_evidence_its_lines_and_its_probability():
    said = explained()
    assert "c/kernel/n1.log, line 1,234" in said["Why"]
    assert "93.0%" in said["Why"]
    assert said["What was lost"].startswith("8.00 GPU-hours")
    assert said["Accounting"] == "c/sacct/a.psv, line 5"


@pytest.mark.parametrize(
    ("around", "said"),
    [
        ([OUTAGE, BOOT | {"lag_seconds": -77.0}], "crashed, was reset or lost power"),
        ([OUTAGE | {"message": "Node unexpectedly rebooted"}], "crashed, was reset or lost power"),
        ([OUTAGE, BOOT | {"lag_seconds": 2400.0}], "until a boot brought it back"),
        ([OUTAGE], "points to its network or slurmd"),
    ],
)
def test_a_lost_node_without_evidence_has_the_reason_that_other_tables_know(around, said):
    why = explained(LOST, (), around)["Why"]
    assert said in why
    assert "Slurm set n1 DOWN at the end, for 3.00 h" in why
    assert NOT_SEEN not in why


@pytest.mark.parametrize(
    "around", [[], [OUTAGE | {"until_at": None}], [OUTAGE | {"has_kernel_log": False}]],
    ids=["nothing is known", "it is still out", "its kernel log is not there"],
)  # fmt: skip
def test_nothing_is_concluded_from_what_is_not_known(around):
    why = explained(LOST | {"has_coverage": None}, (), around, has_health_checks=False)["Why"]
    assert (NOT_SEEN in why) == (not around)
    assert not any(said in why for said in ("So the node", "speaks for"))
    assert why.endswith("Health checks could show more (docs/logs.md).")
