"""Symptoms of faults: they co-occur as often as planned, the pipeline knows their texts, and the cause can be seen."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable

import numpy as np
import pytest

from assets.simulation.causes import (
    BY_CATEGORY,
    CATEGORIES_BY_PRIORITY,
    CAUSES,
    DRAIN_CATEGORIES,
    FLEET_SHARES,
    LEMON_CATEGORIES,
    UNATTRIBUTED,
    Cooccurrence,
    draw_cause,
    draw_mechanism,
    visible_category,
)
from assets.simulation.ledger import Symptoms
from assets.simulation.logs.checks import ALL
from assets.simulation.states import ALARM, CRASH, DRAIN, EVICT, LAUNCH, LOST, OPERATOR, REBOOT
from assets.simulation.symptoms import COMPANIONS, GPU_COMPANIONS, SHOWS, show, show_alarm, show_low_severity
from orchestration.settings.home import PROJECT

RSC_1 = Cooccurrence()
RSC_2 = Cooccurrence(0.63, 0.49, 0.06, 0.05)
ALWAYS = Cooccurrence(1.0, 1.0, 1.0, 1.0)
NEVER = Cooccurrence(0.0, 0.0, 0.0, 0.0)
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
    """Give category and class of evidence of a failing check, as the product's tables have them."""
    if codes := re.findall(r"XID error: (\d+)", message):
        return {(XIDS[int(code)]["failure_category"], XIDS[int(code)]["evidence_class"]) for code in codes}
    rules = [rule for rule in CHECK_RULES if rule["check_key"] == check]
    for rule in rules:
        if re.search(rule["pattern"], f"CRITICAL: {message}"):
            return {(rule["failure_category"], rule["evidence_class"])}
    return {(CHECKS[check]["failure_category"], CHECKS[check]["evidence_class"])}


def of_line(line: str) -> set[tuple[str, str]]:
    """Give category and class of evidence of a kernel line, as the product's tables have them."""
    if found := re.match(r"NVRM: Xid \(PCI:[0-9a-f:]+\): (\d+), ", line):
        row = XIDS[int(found[1])]
        return {(row["failure_category"], row["evidence_class"])}
    rules = [rule for rule in KERNEL_RULES if re.search(rule["pattern"], line, re.I)]
    assert rules, line
    return {(rules[0]["failure_category"], rules[0]["evidence_class"])}


def shown(symptoms: Symptoms) -> set[str]:
    """Give the categories that the texts show, and see to it that each is evidence."""
    found = set()
    for check, message in symptoms.checks:
        found |= of_check(check, message)
    for _, line in symptoms.kernel:
        found |= of_line(line)
    assert {evidence for _, evidence in found} <= {"A"}
    return {category for category, _ in found}


def many(together: Cooccurrence, category: str, mechanism: int, draws: int = DRAWS) -> Iterable[Symptoms]:
    rng = np.random.default_rng([1, BY_CATEGORY[category]])
    return (show(rng, together, category, mechanism, number % 8, 6200) for number in range(draws))


def assert_share(count: int, draws: int, share: float) -> None:
    assert abs(count - draws * share) <= 4 * (draws * share * (1 - share)) ** 0.5


@pytest.mark.parametrize(("together", "with_79", "with_interrupt"), [(RSC_1, 0.43, 0.21), (RSC_2, 0.63, 0.49)])
def test_pcie_faults_bring_xid_79_and_interrupts(together: Cooccurrence, with_79: float, with_interrupt: float) -> None:
    xids = interrupts = 0
    for symptoms in many(together, "pcie", CRASH):
        has_xid = any(": 79, " in line for _, line in symptoms.kernel)
        has_interrupt = any("Critical Interrupt" in message for _, message in symptoms.checks)
        assert has_xid >= has_interrupt
        assert has_xid == ("gpu_unavailable" in symptoms.others)
        assert has_interrupt == ("pcie" in symptoms.others)
        xids, interrupts = xids + has_xid, interrupts + has_interrupt
    assert_share(xids, DRAWS, with_79)
    assert_share(interrupts, DRAWS, with_interrupt)


@pytest.mark.parametrize("together", [RSC_1, RSC_2])
def test_infiniband_faults_come_with_a_gpu(together: Cooccurrence) -> None:
    with_gpu = 0
    for symptoms in many(together, "ib_link", EVICT):
        errors = [at for at, line in symptoms.kernel if line.startswith("NVRM: Xid")]
        assert bool(errors) == bool(shown(symptoms) & set(GPU_COMPANIONS))
        assert all(0 <= at <= 60 for at in errors)
        with_gpu += bool(errors)
    assert_share(with_gpu, DRAWS, together.ib_with_gpu)


@pytest.mark.parametrize("together", [RSC_1, RSC_2])
def test_hardware_faults_show_another_category(together: Cooccurrence) -> None:
    for category in COMPANIONS:
        count = 0
        for symptoms in many(together, category, CRASH):
            own = {category, "gpu_unavailable"} if category == "pcie" else {category}
            count += bool(set(symptoms.others) - own)
        expected = together.hardware_with_other
        assert_share(count, DRAWS, max(expected, together.ib_with_gpu) if category == "ib_link" else expected)


def test_over_all_hardware_the_share_is_the_papers() -> None:
    rng, shares = np.random.default_rng(2), {category: FLEET_SHARES[category] for category in COMPANIONS}
    count = 0
    for _ in range(DRAWS):
        cause = draw_cause(rng, shares)
        category = CAUSES[cause].category
        symptoms = show(rng, RSC_1, category, draw_mechanism(rng, cause), 3, 6200)
        own = {category, "gpu_unavailable"} if category == "pcie" else {category}
        count += bool(set(symptoms.others) - own)
    assert_share(count, DRAWS, 0.03)


@pytest.mark.parametrize("together", [NEVER, RSC_2, ALWAYS])
@pytest.mark.parametrize("category", SHOWS)
def test_others_are_what_the_texts_show(category: str, together: Cooccurrence) -> None:
    seen = set()
    for mechanism in CAUSES[BY_CATEGORY[category]].mechanisms:
        for symptoms in many(together, category, mechanism, 200):
            texts, others = shown(symptoms), set(symptoms.others)
            assert texts | {category} == others | {category}
            # A person may take a node down for what no log shows; then nothing else shows either.
            assert category in texts or not texts
            most_telling = min(texts | {category}, key=PRIORITIES.__getitem__)
            has_evidence = bool(symptoms.kernel or symptoms.checks)
            if has_evidence:
                assert visible_category(BY_CATEGORY[category], mechanism, True, symptoms.others) == most_telling
            if not others & set(GPU_COMPANIONS) or category != "ib_link":
                assert most_telling == category
            seen |= others
    if together == NEVER:
        assert not seen
    if together == ALWAYS and category in COMPANIONS:
        wanted = set(GPU_COMPANIONS) if category == "ib_link" else set(COMPANIONS[category])
        assert seen - {category} == wanted | ({"gpu_unavailable"} if category == "pcie" else set())


def test_an_infiniband_fault_with_a_gpu_is_seen_as_the_gpus() -> None:
    for symptoms in many(ALWAYS, "ib_link", CRASH, 50):
        assert visible_category(BY_CATEGORY["ib_link"], CRASH, True, symptoms.others) in GPU_COMPANIONS
        assert visible_category(BY_CATEGORY["ib_link"], CRASH, True) == "ib_link"


@pytest.mark.parametrize(
    ("category", "mechanism", "has_evidence", "visible"),
    [
        ("pcie", CRASH, True, "pcie"),
        ("pcie", CRASH, False, None),
        ("main_memory", LOST, True, "main_memory"),
        ("ib_link", LOST, False, UNATTRIBUTED),
        (UNATTRIBUTED, REBOOT, False, UNATTRIBUTED),
        ("system_services", LAUNCH, True, "system_services"),
        ("host_hardware", OPERATOR, True, "host_hardware"),
        ("gpu_memory", DRAIN, True, None),
        ("gpu_memory", ALARM, True, None),
    ],
)
def test_visible_categories(category: str, mechanism: int, has_evidence: bool, visible: str | None) -> None:
    assert visible_category(BY_CATEGORY[category], mechanism, has_evidence) == visible


def test_the_order_of_categories_is_that_of_the_pipeline() -> None:
    assert sorted(CATEGORIES_BY_PRIORITY, key=PRIORITIES.__getitem__) == list(CATEGORIES_BY_PRIORITY)
    assert set(CATEGORIES_BY_PRIORITY) == set(BY_CATEGORY) <= set(PRIORITIES)


@pytest.mark.parametrize("code", [62, 119])
def test_a_burst_shows_its_xid(code: int) -> None:
    rng = np.random.default_rng(1)
    symptoms = show(rng, NEVER, "gpu_driver_firmware", EVICT, 2, 6200, code=code)
    assert {re.match(r"NVRM: Xid \(PCI:0000:47:00\): (\d+), ", line)[1] for _, line in symptoms.kernel} == {str(code)}
    assert symptoms.reason.startswith(f"HC: xid errors: XID error: {code}, XID causes: ")
    assert shown(symptoms) == {"gpu_driver_firmware"}


def test_an_xid_of_another_category_is_refused() -> None:
    with pytest.raises(ValueError, match="Xid 119 does not stand for gpu_memory"):
        show(np.random.default_rng(1), RSC_1, "gpu_memory", CRASH, 0, 6200, code=119)


def test_a_lost_node_leaves_kernel_lines_but_no_failed_check() -> None:
    spoke = Counter()
    for category in BY_CATEGORY:
        for symptoms in many(ALWAYS, category, LOST, 100):
            assert not symptoms.checks
            assert symptoms.reason == "Not responding"
            assert all(-20 <= at < 0 for at, _ in symptoms.kernel)
            spoke[category] += bool(symptoms.kernel)
    assert {category for category, count in spoke.items() if count} == {"gpu_unavailable", "pcie", "main_memory"}


def test_the_reason_on_the_node_names_the_cause_first() -> None:
    for symptoms in many(ALWAYS, "gpu_memory", EVICT, 100):
        check, message = symptoms.checks[0]
        assert symptoms.reason == f"HC: {check}: {message.strip()}"
        assert re.match(r"XID error: (48|95), ", message)
    for symptoms in many(ALWAYS, "host_hardware", OPERATOR, 20):
        assert symptoms.reason == "PSU failure, ticket 6200"


def test_findings_that_can_wait_are_of_low_severity() -> None:
    for category in DRAIN_CATEGORIES:
        symptoms = show_low_severity(np.random.default_rng(1), category, 1)
        ((check, message),) = symptoms.checks
        assert check in ALL
        assert {evidence for _, evidence in of_check(check, message)} == {"B"}
        assert {of for of, _ in of_check(check, message)} == {category}
        assert not symptoms.others


def test_alarms_are_spread_over_checks_and_leave_the_kernel_quiet() -> None:
    rng, draws = np.random.default_rng(1), 3000
    counts: Counter[str] = Counter()
    for number in range(draws):
        symptoms = show_alarm(rng, number % 8)
        assert not symptoms.kernel and not symptoms.others
        assert shown(symptoms) <= set(PRIORITIES)
        ((check, _),) = symptoms.checks
        counts[check] += 1
    assert len(counts) >= 6
    for count in counts.values():
        assert_share(count, draws, 1 / len(counts))


def test_every_check_that_may_fail_has_a_good_result_and_is_known() -> None:
    checks = {check for category in SHOWS for s in many(ALWAYS, category, EVICT, 50) for check, _ in s.checks}
    checks |= {check for number in range(100) for check, _ in show_alarm(np.random.default_rng(number), 0).checks}
    assert checks <= set(ALL)
    assert set(ALL) <= set(CHECKS)


def test_same_chance_same_symptoms() -> None:
    for category in SHOWS:
        assert list(many(RSC_2, category, CRASH, 300)) == list(many(RSC_2, category, CRASH, 300))


def test_lemons_have_the_papers_root_causes() -> None:
    components = {row["component"] for row in seed("ticket_components")}
    assert set(LEMON_CATEGORIES) == {"GPU", "DIMM", "PCIe", "EUD", "BIOS", "NIC", "PSU", "Optics", "CPU"} <= components
    for shares in LEMON_CATEGORIES.values():
        assert set(shares) <= set(BY_CATEGORY)
        assert sum(shares.values()) == pytest.approx(1)


@pytest.mark.parametrize("shares", [None, *LEMON_CATEGORIES.values()])
def test_causes_are_drawn_by_their_shares(shares: dict[str, float] | None) -> None:
    rng, wanted = np.random.default_rng(5), shares or FLEET_SHARES
    drawn = Counter(CAUSES[draw_cause(rng, shares)].category for _ in range(DRAWS))
    assert set(drawn) <= set(wanted)
    for category, share in wanted.items():
        assert_share(drawn[category], DRAWS, share / sum(wanted.values()))


def test_mechanisms_are_drawn_by_their_shares_among_those_allowed() -> None:
    rng, cause = np.random.default_rng(5), BY_CATEGORY["ib_link"]
    drawn = Counter(draw_mechanism(rng, cause) for _ in range(DRAWS))
    for mechanism, share in CAUSES[cause].mechanisms.items():
        assert_share(drawn[mechanism], DRAWS, share)
    among = Counter(draw_mechanism(rng, cause, (CRASH, EVICT)) for _ in range(DRAWS))
    assert set(among) == {CRASH, EVICT}
    shares = CAUSES[cause].mechanisms
    assert_share(among[CRASH], DRAWS, shares[CRASH] / (shares[CRASH] + shares[EVICT]))
    assert draw_mechanism(rng, cause, (LOST,)) == EVICT
