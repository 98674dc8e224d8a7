"""Rules of a site in `cluster.toml`: refused rules, the resulting rows, and suggested lines to paste."""

from __future__ import annotations

import json
import re
import tomllib
from datetime import datetime
from pathlib import Path

import duckdb
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assets.site_rules import Signal, lines_of
from assets.sources.intake.find.clusters import cluster_row
from assets.sources.settings import ClusterSettings, Settings, read_settings
from orchestration.settings.home import DBT_PROJECT
from orchestration.terminal.output import visible

CHECK = "[[health.checks]]\ncategory = 'ib_link'\n"
REASON = "[[node_reasons]]\ncategory = 'ib_link'\n"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (CHECK, "health.checks.0"),
        (f"{CHECK}name = 'a'\npattern = 'b'", "health.checks.0"),
        (f"{CHECK}pattern = '('", "health.checks"),
        (f"{CHECK}pattern = '(?!a)b'", "health.checks"),
        (f"{CHECK}name = 'a'\nseverity = 'grave'", "health.checks.0.severity"),
        (f"{CHECK}name = 'a'\nsticky = 'no'", "health.checks.0.sticky"),
        (f"{CHECK}name = 'a'\nkind = 1", "health.checks.0.kind"),
        ("[[health.checks]]\nname = 'a'\ncategory = 'gremlins'", "health.checks.0.category"),
        ("[[health.checks]]\nname = 'a'\ncategory = 'planned'", "health.checks.0.category"),
        ("[[health.checks]]\nname = 'a'", "health.checks.0.category"),
        (f"{REASON}pattern = '*'", "node_reasons"),
        (f"{REASON}pattern = 'a'\nsticky = true", "node_reasons.0.sticky"),
        ("[[node_reasons]]\npattern = 'a'", "node_reasons.0"),
        ("[[repair_actions]]\npattern = '*'\naction = 'reset'", "repair_actions"),
        ("[[repair_actions]]\npattern = 'a'\naction = 'glue'", "repair_actions.0.action"),
        ("[[xids]]\ncode = 1\ncategory = 'oom'\n[[xids]]\ncode = 1\ncategory = 'oom'", "xids"),
    ],
)
def test_a_rule_that_cannot_hold_is_refused_by_its_key(text: str, key: str, tmp_path: Path) -> None:
    (tmp_path / "cluster.toml").write_text(text)
    _, (error, *_) = read_settings(tmp_path, "c1")
    assert f"'{key}'" in str(error)


def test_rules_become_rows_in_their_order_with_a_class_of_evidence() -> None:
    cluster = ClusterSettings(
        cluster_id="c",
        settings=Settings.model_validate(
            {
                "health": {
                    "checks": [
                        {"name": " My_Probe ", "category": "ib_link", "severity": "high"},
                        {"pattern": "slow", "category": "performance", "sticky": False},
                        {"name": "hint", "category": "pcie", "evidence": False},
                        {"name": "quiet", "category": "pcie", "severity": "info"},
                    ]
                },
                "node_reasons": [{"pattern": "moved", "category": "repair", "planned": True}],
                "repair_actions": [{"pattern": "aisle", "action": "reseat"}],
            }
        ),
    )
    row = cluster_row(cluster)
    checks = json.loads(row["health_check_rules"])
    assert [(check["rule_order"], check["check_name"], check["evidence_class"]) for check in checks] == [
        (1, "my_probe", "A"),
        (2, None, "B"),
        (3, "hint", "B"),
        (4, "quiet", "none"),
    ]
    assert [check["is_sticky"] for check in checks] == [True, False, True, True]
    (reason,) = json.loads(row["node_reason_rules"])
    assert (reason["failure_category"], reason["evidence_class"]) == ("planned", "none")
    assert json.loads(row["repair_action_rules"]) == [{"rule_order": 1, "pattern": "aisle", "repair_action": "reseat"}]


def test_only_a_check_that_is_not_sticky_has_the_logs_read_again(tmp_path: Path) -> None:
    def reading_hash(text: str) -> str:
        (tmp_path / "cluster.toml").write_text(text)
        cluster, errors = read_settings(tmp_path, "c1")
        assert errors == []
        return cluster.reading_hash

    plain = reading_hash("")
    rules = f"{CHECK}name = 'a'\n{REASON}pattern = 'b'\n[[xids]]\ncode = 190\ncategory = 'oom'\n"
    assert reading_hash(rules) == plain
    assert reading_hash(f"{CHECK}name = 'a'\nsticky = false\n") != plain


def signal(kind: str, text: str, path: str = "c/health/a") -> Signal:
    day = datetime(2024, 5, 1)
    return Signal(kind, text, 3, 2, day, day, path, 7)


def parsed(found: Signal) -> Settings:
    text = "\n".join(lines_of(found))
    assert [visible(line) for line in lines_of(found)] == lines_of(found)
    return Settings.model_validate(tomllib.loads(text))


@given(st.text(min_size=1, max_size=255), st.text(max_size=60))
@example("a'''\"\"\"\\\n[[node_reasons]]\nplanned = true", "c/\n[x]")
@example("\u3164\u202e\x7f\x00'", "\x1b[2J")
@settings(max_examples=60)
def test_the_name_of_any_check_can_be_pasted(name: str, path: str) -> None:
    (check,) = parsed(signal("check", name, path)).health.checks
    assert (check.name, check.category) == (name, "config")


MACRO = (DBT_PROJECT / "macros" / "without_variable_parts.sql").read_text(encoding="utf-8")


def as_grouped(reason: str) -> str:
    """Return the reason as the mart groups it: the steps of the macro, in DuckDB."""
    blanks, ids, numbers = (text.replace("\\\\", "\\") for text in re.findall(r"regex_literal\('(.*?)'\)", MACRO))
    query = "lower(trim($1))"
    for number, replacement in ((2, " "), (3, "#"), (4, "#")):
        query = f"regexp_replace({query}, ${number}, '{replacement}', 'g')"
    (found,) = duckdb.execute(f"select left({query}, 300)", [reason, blanks, ids, numbers]).fetchone() or ("",)
    return str(found)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=400))
@example("Job 4711 (gpu[001-003]) left at 2026-01-01T10:00:00, id 0x1f; 'quoted' \"too\" \\d+ ^$|{2}")
@example("GPU  Memory\tuncorrectable   on GPU-5fe2a1c0-12ab-34cd-56ef-0123456789ab")
@example("x" * 400)
@settings(max_examples=60)
def test_the_pattern_that_is_offered_fits_the_reason(reason: str) -> None:
    grouped = as_grouped(reason)
    if not grouped.strip():
        return
    (rule,) = parsed(signal("node_reason", grouped)).node_reasons
    fits = duckdb.execute("select regexp_matches(lower(trim($1)), '(?i)' || $2)", [reason, rule.pattern]).fetchone()
    assert fits == (True,), (grouped, rule.pattern)


def test_an_unknown_action_and_an_unknown_code_can_be_pasted() -> None:
    (action,) = parsed(signal("repair_action", "called vendor, case #")).repair_actions
    assert (action.pattern, action.action) == (r"^called\s+vendor,\s+case\s+.*$", "unknown")
    (rule,) = parsed(signal("xid", "190")).xids
    assert rule.code == 190
