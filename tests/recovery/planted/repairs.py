"""Reboots that do not work where a new part does, and clusters in which all actions are alike."""

from __future__ import annotations

import math
from dataclasses import replace

from assets.simulation.causes import DRAIN_CATEGORIES as DRAINS
from assets.simulation.causes import FLEET_SHARES
from assets.simulation.clusters import read_cluster
from assets.simulation.profiles import Burst, Relapse, Repairs
from tests.recovery.planted import FOUND_BY_CHANCE, Planted
from tests.truth.scorer import share

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
BACK = SHARE * (1 - math.exp(-7 / MEAN_DAYS))
"""Share of the faults that a repair which does not work leaves, and that are back within seven days."""
NEW = {
    cause: 7 * (RATE + ORDINARY.fault_rate * FLEET_SHARES[cause] + ORDINARY.drain_rate * DRAINS.get(cause, 0.0))
    for cause in CAUSES
}
"""Other faults of the same cause that are expected meanwhile."""
RELATIONS = f"""
    create table judged.repairs as
    select
        *,
        cluster_id like 'repairs-none-%' as is_ordinary,
        not is_ordinary and failure_category in {BAD} as is_bad,
        repair_action = 'reboot' as is_reboot,
        verdict = 'relapses sooner' as is_sooner,
        1 - exp(-case failure_category {" ".join(f"when '{cause}' then {count}" for cause, count in NEW.items())} end)
        * if(is_bad and is_reboot, {1 - BACK}, 1) as true_relapse
    from published.estimates.est_repairs
    where cluster_id like 'repairs-%';
    create table judged.ordinary as
    select cluster_id, bool_or(verdict != 'cannot tell') as is_found from judged.repairs where is_ordinary group by all
"""
CLAIMS = (
    share("reboots that do not work and are said to relapse sooner", "repairs", "is_sooner", "is_bad and is_reboot",
          recall=0.3),
    share("verdicts on a cause that are right", "repairs", "is_bad and is_reboot = is_sooner",
          "verdict != 'cannot tell' and failure_category != 'all'", recall=0.9),
    share("relapses within 7 days whose limits hold what was planted", "repairs",
          "true_relapse between relapse_7d_ratio_low and relapse_7d_ratio_high",
          f"not is_ordinary and failure_category in {CAUSES} and relapse_7d_ratio is not null", recall=0.85),
    share("actions on untouched nodes that are false returns", "repairs", "repair_action = 'none'",
          f"not is_ordinary and failure_category = '{UNTOUCHED}'", recall=0.9),
    share("clusters whose actions are alike that have a verdict", "ordinary", "is_found", at_most=FOUND_BY_CHANCE),
)  # fmt: skip
