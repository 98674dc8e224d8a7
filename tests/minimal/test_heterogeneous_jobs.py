"""The size of a heterogeneous job is that of all its components; their GPUs, hours and node-days are counted once."""

from tests.minimal.cluster import Cluster, at

UNKNOWN = {"AllocTRES": "cpu=512,gres/gpu=NONE,node=8", "ReqTRES": "cpu=512,node=8"}


def of_two_components() -> Cluster:
    """Job 23 has 96 GPUs on 12 nodes and 64 on 8. A node of the second fails on day 10; both run again for ten days.

    Job 3 has 64 GPUs for ten days. Of job 40, 96 GPUs are known, and those of its other component are not.
    """
    cluster = Cluster().job(99, "n99", at(0), at(0)).inventory("n[1-20]")
    for job_id, raw, nodes, state in (("23+0", "23", "n[1-12]", "REQUEUED"), ("23+1", "24", "n[13-20]", "NODE_FAIL")):
        cluster.job(job_id, nodes, at(0), at(days=10), state, JobIDRaw=raw)
        cluster.job(job_id, nodes, at(days=10), at(days=20), JobIDRaw=raw)
    cluster.job("40+0", "n[1-12]", at(days=20), at(days=21), JobIDRaw="40")
    cluster.job("40+1", "n[13-20]", at(days=20), at(days=21), JobIDRaw="41", **UNKNOWN)
    return cluster.job(3, "n[13-20]", at(days=21), at(days=31))


CLUSTERS = {"two-components": of_two_components()}


def test_components_have_the_size_of_their_job_and_their_own_gpus(minimal):
    assert minimal.execute(
        "select job_id, attempt_number, gpu_count, job_gpu_count, gpu_size_bin, gpu_hours, node_days "
        "from marts.fct_attempts where cluster_id = 'two-components' and job_id_raw != 99 "
        "order by job_id_raw, attempt_number"
    ).fetchall() == [
        ("3", 1, 64, 64, 64, 64 * 240, 80),
        ("23+0", 1, 96, 160, 256, 96 * 240, 120),
        ("23+0", 2, 96, 160, 256, 96 * 240, 120),
        ("23+1", 1, 64, 160, 256, 64 * 240, 80),
        ("23+1", 2, 64, 160, 256, 64 * 240, 80),
        ("40+0", 1, 96, None, None, 96 * 24, 12),
        ("40+1", 1, None, None, None, None, 8),
    ]
    assert minimal.execute(
        "select gpu_count, gpu_size_bin, gpu_hours from marts.fct_job_runs "
        "where cluster_id = 'two-components' and attempt_count = 2 order by gpu_count"
    ).fetchall() == [(64, 256, 64 * 480), (96, 256, 96 * 480)]


def test_each_component_counts_as_an_attempt_of_that_size(minimal):
    assert minimal.execute(
        "select gpu_size_bin, job_count, gpu_hours from marts.agg_job_sizes "
        "where cluster_id = 'two-components' and gpu_size_bin > 8 order by gpu_size_bin"
    ).fetchall() == [(64, 1, 64 * 240), (256, 4, 160 * 480)]
    assert minimal.execute(
        "select attempt_count, runtime_hours from estimates.est_mttf_by_size "
        "where cluster_id = 'two-components' and gpu_size_bin = 256"
    ).fetchall() == [(4, 4 * 240)]


def test_components_of_a_large_job_are_large(minimal):
    """20 nodes for 20 days, in which one attempt was lost; no component has more than 128 GPUs by itself."""
    assert minimal.execute(
        "select node_days, failure_count from estimates.est_failure_rates "
        "where cluster_id = 'two-components' and population = 'gpus_gt_128' and counted_as = 'attempts_paper'"
    ).fetchall() == [(400, 1)]
    assert minimal.execute(
        "select gpu_count from estimates.est_mttf_projections where cluster_id = 'two-components' and is_largest_job"
    ).fetchall() == [(160,)]
