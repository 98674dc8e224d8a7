"""Reboots that do not work where a new part does, and clusters in which all actions are alike."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import duckdb

from assets.simulation.causes import DRAIN_CATEGORIES as DRAINS
from assets.simulation.causes import FLEET_SHARES
from assets.simulation.clusters import read_cluster
from assets.simulation.profiles import Burst, Relapse, Repairs
from tests.recovery.planted import FOUND_BY_CHANCE, Line, Planted

TITLE = "Did the repair work"
DAYS = 90
RATE = 0.012
"""Of the three causes, on top of the usual faults, per node-day."""
CAUSES = ("gpu_memory", "pcie", "ib_link")
BAD = ("gpu_memory", "ib_link")
SHARE, MEAN_DAYS = 0.6, 3.0
UNTOUCHED = "filesystem_mount"
ORDINARY = replace(read_cluster("demo-llm"), bursts=tuple(Burst(0, DAYS, cause, RATE) for cause in CAUSES))
RELAPSING = replace(
    ORDINARY,
    lemons=(),
    repairs=Repairs(relapses=tuple(Relapse(cause, False, SHARE, MEAN_DAYS) for cause in BAD), untouched=(UNTOUCHED,)),
)
CLUSTERS = (
    *(Planted(replace(RELAPSING, cluster_id=f"repairs-{seed}"), DAYS, seed=seed) for seed in (1, 2, 3)),
    *(Planted(replace(ORDINARY, cluster_id=f"repairs-none-{seed}"), DAYS, seed=seed) for seed in (1, 2, 3, 4, 5)),
)
FOUND = """
    with found as (
        select
            *,
            cluster_id like 'repairs-none-%' as is_ordinary,
            cluster_id not like 'repairs-none-%' and failure_category in $bad as is_bad
        from estimates.est_repairs
        where cluster_id like 'repairs-%'
    )
"""


def compare(con: duckdb.DuckDBPyConnection, truth: Path) -> list[Line]:
    """Score verdicts, the limits of relapses, and false returns."""
    del truth

    def counts(part: str, relation: str) -> tuple[float, float]:
        query = f"{FOUND} select count(*) filter (where {part}), count(*) from {relation}"
        ((found, of),) = con.execute(query, {"bad": list(BAD)}).fetchall()
        return found, of

    # The fault is back, or another one of the same cause comes.
    not_back = 1 - SHARE * (1 - math.exp(-7 / MEAN_DAYS))
    kept = {
        cause: math.exp(
            -7 * (RATE + ORDINARY.fault_rate * FLEET_SHARES[cause] + ORDINARY.drain_rate * DRAINS.get(cause, 0.0))
        )
        for cause in CAUSES
    }
    shares = " ".join(f"when '{cause}' then {share}" for cause, share in kept.items())
    planted = f"1 - case failure_category {shares} end * if(is_bad and repair_action = 'reboot', {not_back}, 1)"
    causes = f"(from found where not is_ordinary and failure_category in {CAUSES} and relapse_7d_ratio is not null)"
    judged = "(from found where verdict != 'cannot tell' and failure_category != 'all')"
    untouched = f"(from found where not is_ordinary and failure_category = '{UNTOUCHED}')"
    return [
        Line("reboots that do not work and are said to relapse sooner",
             *counts("verdict = 'relapses sooner'", "(from found where is_bad and repair_action = 'reboot')"),
             at_least=0.3),
        Line("verdicts on a cause that are right",
             *counts("is_bad and (repair_action = 'reboot') = (verdict = 'relapses sooner')", judged), at_least=0.9),
        Line("relapses within 7 days whose limits hold what was planted",
             *counts(f"{planted} between relapse_7d_ratio_low and relapse_7d_ratio_high", causes), at_least=0.85),
        Line("actions on untouched nodes that are false returns", *counts("repair_action = 'none'", untouched),
             at_least=0.9),
        Line("clusters whose actions are alike that have a verdict",
             *counts("is_found", "(select bool_or(verdict != 'cannot tell') as is_found from found where is_ordinary "
                     "group by cluster_id)"),
             at_most=FOUND_BY_CHANCE),
    ]  # fmt: skip
