"""Symptoms of faults co-occur as often as planned, the pipeline knows their texts, and they show the cause."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

from assets.simulation import causes
from assets.simulation.ledger import Symptoms
from assets.simulation.logs.conditions import ALL
from assets.simulation.states import ALARM, CRASH, DRAIN, EVICT, LAUNCH, LOST, OPERATOR, REBOOT
from assets.simulation.symptoms import COMPANIONS, GPU_COMPANIONS, SHOWN, show, show_alarm, show_low_severity
from orchestration.settings.home import PROJECT

RSC_1 = causes.Cooccurrence()
RSC_2 = causes.Cooccurrence(0.63, 0.49, 0.06, 0.05)
ALWAYS = causes.Cooccurrence(1.0, 1.0, 1.0, 1.0)
NEVER = causes.Cooccurrence(0.0, 0.0, 0.0, 0.0)
DRAWS = 8000


def seed(name: str) -> list[dict[str, str]]:
    with (PROJECT / "dbt_project" / "seeds" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


PRIORITIES = {row["failure_category"]: int(row["priority"]) for row in seed("failure_categories")}
CHECKS = {row["check_key"]: row for row in seed("health_checks")}
CHECK_RULES = seed("health_check_rules")
XIDS = {int(row["code"]): row for row in seed("xids")}
KERNEL_RULES = seed("kernel_rules")


def of_check(check: str, message: str) -> set[tuple[str, str]]:
    """Return category and class of evidence of a failing check from the product's tables."""
    if codes := re.findall(r"XID error: (\d+)", message):
        return {(XIDS[int(code)]["failure_category"], XIDS[int(code)]["evidence_class"]) for code in codes}
    rules = [rule for rule in CHECK_RULES if rule["check_key"] == check]
    for rule in rules:
        if re.search(rule["pattern"], f"CRITICAL: {message}"):
            return {(rule["failure_category"], rule["evidence_class"])}
    return {(CHECKS[check]["failure_category"], CHECKS[check]["evidence_class"])}


def of_line(line: str) -> set[tuple[str, str]]:
    """Return category and class of evidence of a kernel line from the product's tables."""
    if found := re.match(r"NVRM: Xid \(PCI:[0-9a-f:]+\): (\d+), ", line):
        row = XIDS[int(found[1])]
        return {(row["failure_category"], row["evidence_class"])}
    rules = [rule for rule in KERNEL_RULES if re.search(rule["pattern"], line, re.I)]
    assert rules, line
    return {(rules[0]["failure_category"], rules[0]["evidence_class"])}


def shown(symptoms: Symptoms) -> set[str]:
    """Return the categories that the texts show, and check that each is evidence."""
    found = set()
    for check, message in symptoms.checks:
        found |= of_check(check, message)
    for _, line in symptoms.kernel:
        found |= of_line(line)
    assert {evidence for _, evidence in found} <= {"A"}
    return {category for category, _ in found}


def many(together: causes.Cooccurrence, category: str, mechanism: int, draws: int = DRAWS) -> Iterable[Symptoms]:
    rng = np.random.default_rng([1, causes.BY_CATEGORY[category]])
    return (show(rng, together, category, mechanism, number % 8, 6200) for number in range(draws))


def assert_share(count: int, draws: int, share: float) -> None:
    assert abs(count - draws * share) <= 4 * (draws * share * (1 - share)) ** 0.5


@pytest.mark.parametrize("together", [RSC_1, RSC_2])
@pytest.mark.parametrize("category", sorted(COMPANIONS))
def test_symptoms_come_together_as_often_as_planned(together: causes.Cooccurrence, category: str) -> None:
    others = xids = interrupts = gpus = 0
    for symptoms in many(together, category, CRASH):
        own = {category, "gpu_unavailable"} if category == "pcie" else {category}
        others += bool(set(symptoms.others) - own)
        if category == "pcie":
            has_xid = any(": 79, " in line for _, line in symptoms.kernel)
            has_interrupt = any("Critical Interrupt" in message for _, message in symptoms.checks)
            assert has_xid >= has_interrupt and has_xid == ("gpu_unavailable" in symptoms.others)
            xids, interrupts = xids + has_xid, interrupts + has_interrupt
        gpus += bool(shown(symptoms) & set(GPU_COMPANIONS)) if category == "ib_link" else 0
    if category == "pcie":
        assert_share(xids, DRAWS, together.pcie_with_xid_79)
        assert_share(interrupts, DRAWS, together.pcie_with_xid_79_and_interrupt)
    if category == "ib_link":
        assert_share(gpus, DRAWS, together.ib_with_gpu)
    expected = together.hardware_with_other
    assert_share(others, DRAWS, max(expected, together.ib_with_gpu) if category == "ib_link" else expected)


@pytest.mark.parametrize("together", [NEVER, RSC_2, ALWAYS])
@pytest.mark.parametrize("category", sorted(SHOWN))
def test_others_are_what_the_texts_show(category: str, together: causes.Cooccurrence) -> None:
    seen = set()
    for mechanism in causes.CAUSES[causes.BY_CATEGORY[category]].mechanisms:
        for symptoms in many(together, category, mechanism, 200):
            texts, others = shown(symptoms), set(symptoms.others)
            assert texts | {category} == others | {category}
            # A person may take a node down for a fault that no log shows. Then nothing else shows it.
            assert category in texts or not texts
            most_telling = min(texts | {category}, key=PRIORITIES.__getitem__)
            if symptoms.kernel or symptoms.checks:
                visible = causes.visible_category(causes.BY_CATEGORY[category], mechanism, True, symptoms.others)
                assert visible == most_telling
            if not others & set(GPU_COMPANIONS) or category != "ib_link":
                assert most_telling == category
            seen |= others
    if together == NEVER:
        assert not seen
    if together == ALWAYS and category in COMPANIONS:
        wanted = set(GPU_COMPANIONS) if category == "ib_link" else set(COMPANIONS[category])
        assert seen - {category} == wanted | ({"gpu_unavailable"} if category == "pcie" else set())


@pytest.mark.parametrize(
    ("category", "mechanism", "has_evidence", "visible"),
    [
        ("pcie", CRASH, True, "pcie"),
        ("pcie", CRASH, False, None),
        ("main_memory", LOST, True, "main_memory"),
        ("ib_link", LOST, False, causes.UNATTRIBUTED),
        (causes.UNATTRIBUTED, REBOOT, False, causes.UNATTRIBUTED),
        ("system_services", LAUNCH, True, "system_services"),
        ("host_hardware", OPERATOR, True, "host_hardware"),
        ("gpu_memory", DRAIN, True, None),
        ("gpu_memory", ALARM, True, None),
    ],
)
def test_visible_categories(category: str, mechanism: int, has_evidence: bool, visible: str | None) -> None:
    assert causes.visible_category(causes.BY_CATEGORY[category], mechanism, has_evidence) == visible


def test_a_burst_shows_its_xid_and_none_of_another_category() -> None:
    symptoms = show(np.random.default_rng(1), NEVER, "gpu_driver_firmware", EVICT, 2, 6200, code=62)
    assert [line.split(",")[0] for _, line in symptoms.kernel] == ["NVRM: Xid (PCI:0000:47:00): 62"]
    assert symptoms.reason.startswith("HC: xid errors: XID error: 62, XID causes: ")
    with pytest.raises(ValueError, match="Xid 119 does not stand for gpu_memory"):
        show(np.random.default_rng(1), RSC_1, "gpu_memory", CRASH, 0, 6200, code=119)


def test_a_lost_node_leaves_kernel_lines_but_no_failed_check() -> None:
    spoke = Counter()
    for category in causes.BY_CATEGORY:
        for symptoms in many(ALWAYS, category, LOST, 100):
            assert not symptoms.checks
            assert symptoms.reason == "Not responding"
            assert all(-20 <= at < 0 for at, _ in symptoms.kernel)
            spoke[category] += bool(symptoms.kernel)
    assert {category for category, count in spoke.items() if count} == {"gpu_unavailable", "pcie", "main_memory"}


def test_findings_that_can_wait_are_of_low_severity() -> None:
    for category in causes.DRAIN_CATEGORIES:
        symptoms = show_low_severity(np.random.default_rng(1), category, 1)
        ((check, message),) = symptoms.checks
        assert check in ALL
        assert {evidence for _, evidence in of_check(check, message)} == {"B"}
        assert {of for of, _ in of_check(check, message)} == {category}
        assert not symptoms.others


def test_names_are_those_of_the_pipelines_tables() -> None:
    assert sorted(causes.CATEGORIES_BY_PRIORITY, key=PRIORITIES.__getitem__) == list(causes.CATEGORIES_BY_PRIORITY)
    assert set(causes.CATEGORIES_BY_PRIORITY) == set(causes.BY_CATEGORY) <= set(PRIORITIES)
    components = {row["component"] for row in seed("ticket_components")}
    assert (
        set(causes.LEMON_CATEGORIES)
        == {"GPU", "DIMM", "PCIe", "EUD", "BIOS", "NIC", "PSU", "Optics", "CPU"}
        <= components
    )
    checks = {check for category in SHOWN for s in many(ALWAYS, category, EVICT, 50) for check, _ in s.checks}
    alarms = [show_alarm(np.random.default_rng(number), 0) for number in range(100)]
    assert checks | {check for alarm in alarms for check, _ in alarm.checks} <= set(ALL) <= set(CHECKS)
    assert not any(alarm.kernel or alarm.others for alarm in alarms) and len({*map(str, alarms)}) >= 6
