"""Drivers that halve one cause, on all nodes or in a staged roll-out, and drivers that do nothing."""

from __future__ import annotations

from dataclasses import replace

from assets.simulation.clusters.reading import read_profile
from assets.simulation.profiles import Burst, DriverRollout
from tests.recovery.planted import FOUND_BY_CHANCE, Planted
from tests.truth.scorer import share

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
RELATIONS = """
    create table judged.changes as
    select
        changes.*,
        changes.cluster_id like 'changes-none%' as is_nothing,
        changes.verdict in ('helped', 'hurt') as is_shown,
        truth.node_count as planted_node_count,
        truth.version is not null as is_planted,
        changes.cluster_id like '%staged%' as is_staged,
        changes.failure_category = 'all' as is_of_all,
        if(changes.failure_category = truth.category, truth.factor, 1) as true_ratio
    from published.estimates.est_changes as changes
    left join (
        select string_split(filename, '/')[-2] as cluster_id, version, category, factor, count(*) as node_count
        from read_parquet(getvariable('truth') || '/changes-*/driver_rollouts.parquet', filename = true)
        group by all
    ) as truth on changes.cluster_id = truth.cluster_id and changes.change = 'driver ' || truth.version
    where changes.cluster_id like 'changes-%';
    create table judged.unchanged as
    select cluster_id, bool_or(is_shown) as is_shown from judged.changes where is_nothing group by all
"""
CLAIMS = (
    share("changes that were planted", "changes", "is_planted", "is_of_all", recall=1.0),
    share("with the nodes that changed", "changes", "changed_node_count = planted_node_count", "is_of_all", recall=0.9),
    share(
        "staged roll-outs held against the other nodes", "changes", "method = 'ratio_of_ratios'",
        "is_staged and is_of_all", recall=1.0,
    ),
    share(
        "halved causes that the driver helped", "changes", "verdict = 'helped'",
        f"failure_category = '{CAUSE}' and not is_nothing", recall=0.75,
    ),
    share(
        "verdicts that are right", "changes", f"verdict = 'helped' and failure_category in ('{CAUSE}', 'all')",
        "is_shown and not is_nothing", recall=0.9,
    ),
    share(
        "causes whose limits hold the true ratio", "changes", "true_ratio between low and coalesce(high, 1e9)",
        "not is_of_all", recall=0.85,
    ),
    share(
        "clusters with a driver that does nothing, and a verdict", "unchanged", "is_shown", at_most=FOUND_BY_CHANCE,
        least=len([cluster for cluster in CLUSTERS if "none" in cluster.profile.cluster_id]),
    ),
)  # fmt: skip
