"""The repair actions that the seed of patterns finds in the words of tickets and administrators."""

import csv

import duckdb
import pytest

from orchestration.settings.home import DBT_PROJECT

FIRST = "select rule_order, repair_action from rules where regexp_matches($1, pattern) order by rule_order limit 1"


@pytest.fixture(scope="module")
def rules():
    con = duckdb.connect()
    con.execute("create table rules (rule_order integer, pattern varchar, repair_action varchar, example varchar)")
    with (DBT_PROJECT / "seeds" / "repair_actions.csv").open(encoding="utf-8") as file:
        con.executemany("insert into rules values (?, ?, ?, ?)", [list(row.values()) for row in csv.DictReader(file)])
    return con


def first(rules, text):
    return rules.execute(FIRST, [text.lower().replace("_", " ")]).fetchone()


def test_each_rule_is_the_first_to_fit_its_example(rules):
    for order, example in rules.execute("select rule_order, example from rules").fetchall():
        assert first(rules, example)[0] == order, example


@pytest.mark.parametrize(
    ("action", "texts"),
    [
        (
            "exchange",
            "replace_gpu; RMA; GPU swap; swapped DIMM 3; changed the IB cable; new psu; reset failed, replaced",
        ),
        ("reseat", "Re-seated GPU 4; reseat; cleaned optics; reconnected riser"),
        ("reset", "gpu_reset; nvidia-smi -r; reloaded driver; firmware update; link reset; restarted slurmd; reimaged"),
        ("reboot", "Reboot ASAP; power cycle; node reset; AC cycled; cold boot; restarted"),
        ("none", "no action; NFF; could not be reproduced; back in service; closed; Node unexpectedly rebooted"),
        ("none", "GPU requires reset; reboot required; awaiting RMA"),
        (None, "called vendor; PSU failure; swap space full; directory not mounted; ticket 4711; xid 79"),
    ],
)
def test_words_say_what_was_done(rules, action, texts):
    assert {text: (first(rules, text) or (0, None))[1] for text in texts.split("; ")} == dict.fromkeys(
        texts.split("; "), action
    )
