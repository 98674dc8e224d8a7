"""Faults that no log shows end jobs as planted, and jobstats' summaries tell how GPUs were used."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assets.simulation import simulate
from assets.simulation.clusters import read_cluster
from assets.simulation.engine import simulate_cluster
from assets.simulation.ledger import Ledger
from assets.simulation.profiles import DAY, HiddenFault
from assets.simulation.states import FAILED, TIMEOUT
from tests.simulation.simulated import Simulated

FAULTS = (
    HiddenFault(0.2, "black_hole", 1.0, first_day=5),
    HiddenFault(0.5, "hang", 0.5),
)
DEMO_LLM = read_cluster("demo-llm").resized(20, 1.0)
PROFILE = replace(DEMO_LLM, hidden_faults=FAULTS, idle_users=(2,), logs=replace(DEMO_LLM.logs, has_job_summaries=True))


@pytest.fixture(scope="module")
def ledger() -> Ledger:
    return simulate_cluster(PROFILE, np.random.default_rng(3), lambda share: None)


@pytest.mark.parametrize(("number", "state"), [(0, FAILED), (1, TIMEOUT)])
def test_most_struck_attempts_end_as_planted(ledger: Ledger, number: int, state: int) -> None:
    struck = ledger.hidden_ends["attempt"][ledger.hidden_ends["fault"] == number]
    assert len(struck) > 5
    ended = struck[ledger.attempts["end"][struck] >= 0]
    assert (ledger.attempts["state"][ended] == state).mean() > 0.6
    node = PROFILE.node_at(FAULTS[number].position)
    assert all(node in ledger.nodes[row] for row in struck)


def test_a_black_hole_ends_jobs_within_a_minute_and_from_its_first_day_on(ledger: Ledger) -> None:
    rows = ledger.hidden_ends["attempt"][ledger.hidden_ends["fault"] == 0]
    seconds = ledger.attempts["end"][rows] - ledger.attempts["start"][rows]
    assert seconds.max() <= 60
    assert ledger.attempts["start"][rows].min() >= 5 * DAY


def test_summaries_are_jobstats_own_and_idle_users_use_next_to_nothing(tmp_path: Path) -> None:
    made = Simulated(simulate(replace(PROFILE, cluster_id="hidden"), tmp_path, days=8, seed=2).clusters[0])
    header, *lines = (line.split("|") for line in made.text("sacct/*.psv") if line)
    place, user, name = (header.index(field) for field in ("AdminComment", "User", "JobID"))
    records = [line for line in lines if "." not in line[name] and line != header]
    packed = [(line[user], line[place].removeprefix("JS1:")) for line in records if line[place].startswith("JS1:H")]
    read = [(who, json.loads(gzip.decompress(base64.b64decode(text)))) for who, text in packed]
    means = {
        who: np.mean([next(iter(node["gpu_utilization"].values())) for own, job in read if own == who
                      for node in job["nodes"].values()])
        for who in {who for who, _ in read}
    }  # fmt: skip
    idle = [who for who, mean in means.items() if mean < 5]
    assert len(idle) == 1
    assert min(mean for who, mean in means.items() if who not in idle) > 30
    assert {line[place] for line in records} >= {"", "JS1:Short"}
    assert {row["node"] for row in made.truth("hidden_faults")} == {"node013", "node033"}
