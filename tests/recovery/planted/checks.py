"""A check that is noise and one that leads by minutes, among ordinary checks: which to drop, and what it says."""

from __future__ import annotations

from dataclasses import replace

from assets.simulation.clusters import read_cluster
from assets.simulation.profiles import Burst, LeadingCheck, NoisyCheck
from tests.recovery.planted import FOUND_BY_CHANCE, Planted
from tests.truth.scorer import share

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
RELATIONS = f"""
    create table judged.checks as
    select
        scores.*,
        truth.lead_seconds as true_lead_seconds,
        truth.true_count / nullif(truth.true_count + truth.false_count, 0) as planted_share,
        scores.cluster_id not like 'checks-none-%' as is_planted,
        abs(scores.lead_seconds - truth.lead_seconds) <= {MAX_ERROR_SECONDS} as is_close,
        is_planted and scores.check_name in {tuple(LEADS)} as is_lead
    from published.estimates.est_check_scores as scores
    inner join read_parquet(getvariable('truth') || '/checks-*/checks.parquet', filename = true) as truth
        on truth.check_name = scores.check_name and contains(truth.filename, '/' || scores.cluster_id || '/')
    where scores.cluster_id like 'checks-%';
    create table judged.without_noise as
    select cluster_id, bool_or(verdict = 'drop') as is_dropped from judged.checks where not is_planted group by all
"""
CLAIMS = (
    share(
        "noise that is said to be dropped", "checks", "verdict = 'drop'", f"is_planted and check_name = '{NOISE}'",
        recall=0.9,
    ),
    share("of those said to be dropped, noise", "checks", "planted_share < 0.2", "verdict = 'drop'", recall=0.9),
    share(
        "checks judged wrongly", "checks",
        "verdict = 'drop' and planted_share >= 0.2 or verdict = 'tune' and planted_share >= 0.5", at_most=0.05,
    ),
    share("true shares within their limits", "checks", "planted_share between low and high", "low is not null",
          recall=0.88),
    share(
        f"planted leads within {MAX_ERROR_SECONDS} s", "checks",
        f"is_close and true_lead_seconds in {tuple(seconds for _, seconds in LEADS.values())}", "is_lead", recall=0.9,
    ),
    share(f"other leads within {MAX_ERROR_SECONDS} s", "checks", "is_close", "lead_seconds is not null and not is_lead",
          recall=0.9),
    share("clusters without planted noise where a check is dropped", "without_noise", "is_dropped",
          at_most=FOUND_BY_CHANCE),
)  # fmt: skip
