"""A black hole, a node on which jobs hang, and users who do not use their GPUs."""

from __future__ import annotations

from dataclasses import replace

from assets.simulation.clusters.reading import read_profile
from assets.simulation.profiles import HiddenFault
from tests.recovery.planted import FOUND_BY_CHANCE, Planted
from tests.truth.scorer import share

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
MIN_STRUCK = 10
"""A fault that ended fewer attempts is not asked for."""
IDLE_WITHIN = 0.01
RELATIONS = """
    create table judged.hidden as
    select *, cluster_id like 'hidden-none-%' as is_ordinary
    from published.estimates.est_hidden_failures
    where cluster_id like 'hidden-%';
    create temp table planted as
    select
        string_split(filename, '/')[-2] as cluster_id,
        node as node_id,
        attempt_count as struck_count,
        if(kind = 'hang', 'timeout', 'failed_early') as kind
    from read_parquet(getvariable('truth') || '/hidden-*/hidden_faults.parquet', filename = true);
    create table judged.struck as
    from planted left join judged.hidden using (cluster_id, kind, node_id);
    create table judged.suspects as
    from judged.hidden left join planted using (cluster_id, node_id) where is_suspect and not is_ordinary;
    create table judged.ordinary as
    select cluster_id, bool_or(is_suspect) as is_found from judged.hidden where is_ordinary group by cluster_id;
    create table judged.idle as
    from judged.hidden
    inner join (
        select
            string_split(filename, '/')[-2] as cluster_id,
            sum(gpu_count * (ended_epoch - started_epoch) / 3600) filter (where gpu_utilisation < 0.05) as idle_hours
        from read_parquet(getvariable('truth') || '/hidden-*/attempts.parquet', filename = true)
        where ended_epoch - started_epoch >= 60
        group by all
    ) using (cluster_id)
    where kind = 'idle_gpus'
"""
CLAIMS = (
    share("nodes with a hidden fault that are suspects", "struck", "is_suspect", f"struck_count >= {MIN_STRUCK}",
          recall=0.9),
    # A node that shares many large jobs with a black hole is called one as well.
    share("suspects that have a hidden fault", "suspects", "struck_count is not null", recall=0.8),
    share("kinds of ends on good nodes whose limits hold 1", "hidden", "1 between low and coalesce(high, 1)",
          "is_ordinary and node_id is not null and low is not null", recall=0.88),
    share("clusters with nothing planted that have a suspect", "ordinary", "is_found", at_most=FOUND_BY_CHANCE),
    share("clusters whose GPU-hours without use are 1% off at most", "idle",
          f"abs(held_gpu_hours / idle_hours - 1) <= {IDLE_WITHIN}", recall=0.9),
)  # fmt: skip
