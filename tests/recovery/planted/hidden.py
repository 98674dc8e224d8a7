"""A black hole, a node on which jobs hang, and users who do not use their GPUs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb

from assets.simulation.clusters.reading import read_profile
from assets.simulation.profiles import HiddenFault
from tests.recovery.planted import FOUND_BY_CHANCE, Line, Planted

TITLE = "Failures that Slurm does not call so"
DAYS = 45
ORDINARY = read_profile("demo")[0]
FAULTY = replace(
    ORDINARY,
    hidden_faults=(
        HiddenFault(0.2, "black_hole", 0.5, first_day=20),
        HiddenFault(0.5, "hang", 0.3),
    ),
    idle_users=(2, 5),
    logs=replace(ORDINARY.logs, has_job_summaries=True),
)
CLUSTERS = (
    *(Planted(replace(FAULTY, cluster_id=f"hidden-{seed}"), DAYS, seed=seed) for seed in (1, 2, 3, 9, 10)),
    *(Planted(replace(ORDINARY, cluster_id=f"hidden-none-{seed}"), DAYS, seed=seed) for seed in (4, 5, 6, 7, 8)),
)
KINDS = {"black_hole": "failed_early", "hang": "timeout"}
MIN_STRUCK = 10
"""A fault that ended fewer attempts is not asked for."""
IDLE_WITHIN = 0.01
FOUND = """
    with found as (
        select
            *,
            cluster_id like 'hidden-none-%' as is_ordinary
        from estimates.est_hidden_failures
        where cluster_id like 'hidden-%'
    ),

    planted as (
        select
            string_split(filename, '/')[-2] as cluster_id,
            node as node_id,
            attempt_count as struck_count,
            map_extract_value($kinds::map(varchar, varchar), kind) as kind
        from read_parquet($truth || '/hidden-*/hidden_faults.parquet', filename = true)
    ),

    known_hours as (
        select
            string_split(filename, '/')[-2] as cluster_id,
            sum(gpu_count * (ended_epoch - started_epoch) / 3600) filter (where gpu_utilisation < 0.05) as idle_hours
        from read_parquet($truth || '/hidden-*/attempts.parquet', filename = true)
        where ended_epoch - started_epoch >= 60
        group by all
    )
"""


def compare(con: duckdb.DuckDBPyConnection, truth: Path) -> list[Line]:
    """Score suspects, limits and GPU-hours without use."""

    def counts(part: str, relation: str) -> tuple[float, float]:
        query = f"{FOUND} select count(*) filter (where {part}), count(*) from {relation}"
        ((found, of),) = con.execute(query, {"truth": str(truth), "kinds": KINDS}).fetchall()
        return found, of

    struck = f"(from planted left join found using (cluster_id, kind, node_id) where struck_count >= {MIN_STRUCK})"
    suspects = "(from found left join planted using (cluster_id, node_id) where is_suspect and not is_ordinary)"
    ordinary = "(select cluster_id, bool_or(is_suspect) as is_found from found where is_ordinary group by cluster_id)"
    good = "(from found where is_ordinary and node_id is not null and low is not null)"
    idle = "(from found join known_hours using (cluster_id) where kind = 'idle_gpus')"
    return [
        Line("nodes with a hidden fault that are suspects", *counts("is_suspect", struck), at_least=0.9),
        Line("suspects that have a hidden fault", *counts("struck_count is not null", suspects), at_least=0.9),
        Line("kinds of ends on good nodes whose limits hold 1", *counts("1 between low and coalesce(high, 1)", good),
             at_least=0.88),
        Line("clusters with nothing planted that have a suspect", *counts("is_found", ordinary),
             at_most=FOUND_BY_CHANCE),
        Line("clusters whose GPU-hours without use are 1% off at most",
             *counts(f"abs(held_gpu_hours / idle_hours - 1) <= {IDLE_WITHIN}", idle), at_least=0.9),
    ]  # fmt: skip
