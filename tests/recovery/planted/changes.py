"""Drivers that halve one cause, on all nodes or in a staged roll-out, and drivers that do nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb

from assets.simulation.clusters.reading import read_profile
from assets.simulation.profiles import Burst, DriverRollout
from tests.recovery.planted import FOUND_BY_CHANCE, Line, Planted

TITLE = "Did the change help?"
DAYS = 180
CHANGED_ON = 90.3
CAUSE = "ib_link"
QUIET = replace(read_profile("demo")[0], annotations=(), checks_introduced=(), shared_faults=())


def _cluster(name: str, seed: int, rate: float, scale: float, rollout: DriverRollout, season: float = 0.0) -> Planted:
    """Give a cluster whose nodes have faults of the cause, from the day of the roll-out on more of them by `season`."""
    bursts = (Burst(0, DAYS, CAUSE, rate), *([Burst(CHANGED_ON, DAYS, CAUSE, season)] if season else []))
    profile = replace(QUIET, cluster_id=f"changes-{name}", bursts=bursts, driver_rollouts=(rollout,))
    return Planted(profile, DAYS, scale, seed)


HALVES = DriverRollout(CHANGED_ON, "550.54.15", category=CAUSE, factor=0.5)
NOTHING = DriverRollout(CHANGED_ON, "550.90.07", category=CAUSE)
CLUSTERS = (
    *(_cluster(f"halved-{seed}", seed, 0.06, 1.0, HALVES) for seed in (1, 2)),
    *(_cluster(f"staged-{seed}", seed, 0.06, 3.0, replace(HALVES, share=0.5), season=0.03) for seed in (3, 4)),
    *(_cluster(f"none-{seed}", seed, 0.03, 1.0, NOTHING) for seed in (5, 6)),
    _cluster("none-staged", 7, 0.03, 1.0, replace(NOTHING, share=0.5), season=0.02),
    _cluster("none-rolling", 8, 0.03, 1.0, replace(NOTHING, spread_days=20.0)),
)
FOUND = """
    with found as (
        select
            changes.*,
            changes.cluster_id like 'changes-none%' as is_nothing,
            changes.verdict in ('helped', 'hurt') as is_shown,
            truth.factor,
            truth.node_count as planted_node_count,
            truth.version is not null as is_planted,
            changes.cluster_id like '%staged%' as is_staged,
            if(changes.failure_category = truth.category, truth.factor, 1) as true_ratio
        from estimates.est_changes as changes
        left join (
            select
                string_split(filename, '/')[-2] as cluster_id,
                version,
                category,
                factor,
                count(*) as node_count
            from read_parquet($truth || '/changes-*/driver_rollouts.parquet', filename = true)
            group by all
        ) as truth on changes.cluster_id = truth.cluster_id and changes.change = 'driver ' || truth.version
        where changes.cluster_id like 'changes-%'
    )
"""


def compare(con: duckdb.DuckDBPyConnection, truth: Path) -> list[Line]:
    """Score which changes are found, whom they concern, their limits and their verdicts."""

    def counts(part: str, of: str) -> tuple[float, float]:
        query = f"{FOUND} select count(*) filter (where {part}), count(*) from found where {of}"
        ((number, total),) = con.execute(query, {"truth": str(truth)}).fetchall()
        return number, total

    def clusters(part: str, of: str) -> tuple[float, float]:
        query = f"{FOUND} select count(distinct cluster_id) filter (where {part}) from found where {of}"
        ((number,),) = con.execute(query, {"truth": str(truth)}).fetchall()
        return number, len([cluster for cluster in CLUSTERS if "none" in cluster.profile.cluster_id])

    halved, all_causes = f"failure_category = '{CAUSE}' and not is_nothing", "failure_category = 'all'"
    return [
        Line("changes that were planted", *counts("is_planted", all_causes), at_least=1.0),
        Line(
            "with the nodes that changed", *counts("changed_node_count = planted_node_count", all_causes), at_least=0.9
        ),
        Line(
            "staged roll-outs held against the other nodes",
            *counts("method = 'ratio_of_ratios'", f"is_staged and {all_causes}"),
            at_least=1.0,
        ),
        Line("halved causes that the driver helped", *counts("verdict = 'helped'", halved), at_least=0.75),
        Line(
            "verdicts that are right",
            *counts(f"verdict = 'helped' and failure_category in ('{CAUSE}', 'all')", "is_shown and not is_nothing"),
            at_least=0.9,
        ),
        Line(
            "causes whose limits hold the true ratio",
            *counts("true_ratio >= low and true_ratio <= coalesce(high, 1e9)", "failure_category != 'all'"),
            at_least=0.85,
        ),
        Line(
            "clusters with a driver that does nothing, and a verdict",
            *clusters("is_shown", "is_nothing"),
            at_most=FOUND_BY_CHANCE,
        ),
    ]
