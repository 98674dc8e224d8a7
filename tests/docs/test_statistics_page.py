"""The page on statistics says what the code says, of every estimate and every formula behind it."""

import re

import pytest

from assets.model.survival import MINIMUM_INCIDENTS
from orchestration.read_commands.formulas import formulas_behind
from orchestration.settings.home import PROJECT
from tests.docs.writers.statistics_page import COUNTED, COVERAGE, PLANTED, PUBLISHED, page

WRITTEN = (PROJECT / "docs" / "statistics.md").read_text(encoding="utf-8")
ESTIMATES = [path.stem for path in sorted((PROJECT / "assets" / "estimates").glob("est_*.py"))]


def section(heading):
    return re.split(r"^#{2,3} ", WRITTEN.split(f"\n### {heading}\n")[1], maxsplit=1, flags=re.MULTILINE)[0]


def test_the_page_is_what_the_code_says():
    assert page() == WRITTEN, "run `make statistics`"


@pytest.mark.parametrize("name", ESTIMATES)
def test_every_estimate_has_its_limits_formulas_and_proofs(name):
    formulas = formulas_behind(f"assets.estimates.{name}")
    assert formulas
    said = section(name)
    assert all(f"[{found.name}](#{found.name})" in said for found in formulas)
    assert "**Limits**: " in said
    proofs = " ".join(said.split("**Proofs**: ")[1].split())
    assert any(words in proofs for words in ("coverage in `tests/", "not proven by coverage", *COVERAGE))


def test_a_formula_has_its_result_notes_assumptions_source_and_thresholds():
    said = section("survival")
    assert f"`MINIMUM_INCIDENTS = {MINIMUM_INCIDENTS}`: Incidents that a shape takes" in said
    assert "[est_time_to_failure](#est_time_to_failure)" in said
    assert "`tests/model/test_survival.py` (with coverage)" in said
    formula = said.split("#### fit_weibull\n")[1]
    for words in (
        "**Result:** Without limits",
        "Hazard `k / s (t / s)^(k - 1)`.",
        "**Assumptions:** all",
        "**Source:** W. Q.",
    ):
        assert words in formula
    assert ":\n\n```text\ntheta_s / (1 - theta_s)" in section("attribution")


def test_helpers_of_estimates_are_followed_and_functions_of_the_model_if_asked():
    def names(table, **options):
        return [found.name for found in formulas_behind(f"assets.estimates.{table}", **options)]

    assert names("est_failure_rates_monthly") == ["weighted_interval"]
    assert names("est_ettr_by_qos") == ["mean_or_bounds"]
    assert names("est_ettr_by_qos", deep=True) == ["mean_or_bounds", "mean_ratio_interval"]


def test_what_marts_measure_is_said_of_each_column():
    named = re.findall(r"^\| \[(\w+)\]\(tables\.md#\w+\)\.(\w+) \| .{20}", WRITTEN, re.MULTILINE)
    assert sorted(named) == sorted((table, column) for table, columns in COUNTED.items() for column in columns)


def test_what_is_said_to_be_planted_or_published_is_of_an_estimate():
    assert {name for shown in (PLANTED, PUBLISHED) for names in shown.values() for name in names} <= set(ESTIMATES)
    assert "not proven by coverage" in section("est_hidden_failures")
    assert "planted: [Did the repair" in section("est_repairs")
    assert "[lemon_verdicts](#lemon_verdicts)" in section("est_lemon_nodes")
    assert "published: [InfiniteHBD" in section("est_unit_failure_rates")
