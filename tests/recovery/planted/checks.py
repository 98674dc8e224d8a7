"""A check that is noise and one that leads by minutes, among ordinary checks: which to drop, and what it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb

from assets.simulation.clusters import read_cluster
from assets.simulation.profiles import Burst, LeadingCheck, NoisyCheck
from tests.recovery.planted import FOUND_BY_CHANCE, Line, Planted

TITLE = "Which check to trust"
NOISE = "link flaps"
LEADS = {"check pci": ("pcie", 240), "check ibstat": ("ib_link", 1500)}
DAYS = 45
MAX_ERROR_SECONDS = 5
ORDINARY = replace(
    read_cluster("demo-llm"),
    bursts=(Burst(0, DAYS, "pcie", 0.008), Burst(0, DAYS, "ib_link", 0.008)),
    checks_introduced=(),
)
WITH_CHECKS = replace(
    ORDINARY,
    noisy_checks=(NoisyCheck(NOISE, 0.1),),
    leading_checks=tuple(LeadingCheck(*lead) for lead in LEADS.values()),
)
CLUSTERS = (
    *(Planted(replace(WITH_CHECKS, cluster_id=f"checks-{seed}"), DAYS, seed=seed) for seed in (1, 2, 3)),
    *(Planted(replace(ORDINARY, cluster_id=f"checks-none-{seed}"), DAYS, seed=seed) for seed in (1, 2, 3, 4)),
)
SCORES = """
    select
        scores.*,
        truth.lead_seconds as true_lead_seconds,
        truth.true_count / nullif(truth.true_count + truth.false_count, 0) as planted_share,
        scores.cluster_id not like 'checks-none-%' as is_planted
    from estimates.est_check_scores as scores
    inner join read_parquet($truth, filename = true) as truth
        on truth.check_name = scores.check_name and contains(truth.filename, '/' || scores.cluster_id || '/')
    where scores.cluster_id like 'checks-%'
"""


def compare(con: duckdb.DuckDBPyConnection, truth: Path) -> list[Line]:
    """Score verdicts, the share of true alarms and the lead."""

    def counts(what: str, part: str, whole: str = "true") -> tuple[int, int]:
        query = f"select count({what}) filter (where {part}), count({what}) from ({SCORES}) where {whole}"
        ((found, of),) = con.execute(query, {"truth": f"{truth}/checks-*/checks.parquet"}).fetchall()
        return found, of

    noise = f"is_planted and check_name = '{NOISE}'"
    leads = f"is_planted and check_name in {tuple(LEADS)}"
    wrong = "(verdict = 'drop' and planted_share >= 0.2 or verdict = 'tune' and planted_share >= 0.5)"
    close = f"abs(lead_seconds - true_lead_seconds) <= {MAX_ERROR_SECONDS}"
    planted = f"{close} and true_lead_seconds in {tuple(seconds for _, seconds in LEADS.values())}"
    others = f"lead_seconds is not null and not ({leads})"
    dropped = "verdict = 'drop'"
    return [
        Line("noise that is said to be dropped", *counts("*", dropped, noise), at_least=0.9),
        Line("of those said to be dropped, noise", *counts("*", "planted_share < 0.2", dropped), at_least=0.9),
        Line("checks judged wrongly", *counts("*", wrong), at_most=0.05),
        Line("true shares within their limits",
             *counts("*", "planted_share between low and high", "low is not null"), at_least=0.88),
        Line(f"planted leads within {MAX_ERROR_SECONDS} s", *counts("*", planted, leads), at_least=0.9),
        Line(f"other leads within {MAX_ERROR_SECONDS} s", *counts("*", close, others), at_least=0.9),
        Line("clusters without planted noise where a check is dropped",
             *counts("distinct cluster_id", f"{dropped} and not is_planted", "not is_planted"),
             at_most=FOUND_BY_CHANCE),
    ]  # fmt: skip
