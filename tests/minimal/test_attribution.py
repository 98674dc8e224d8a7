"""The probability that evidence around a failed attempt belongs to its failure."""

import pytest

from tests.logs import Cluster, at
from tests.minimal.reading import ask

BOOT = "Linux version 5.15.0-91-generic (buildd@lcy02) #101-Ubuntu SMP"
XID_79 = "NVRM: Xid (PCI:0000:07:00): 79, pid=1234, GPU has fallen off the bus."


def glitch(cluster, node, moment):
    """Add a link check that fails once and is good again five minutes later."""
    cluster.check(node, moment, "check ibstat", 2, "mlx5_0 is Down")
    return cluster.check(node, moment.replace(minute=moment.minute + 5), "check ibstat", 0)


def busy(jobs, state="COMPLETED", first_id=1, node="n1", first_day=0, glitches=(), settings=""):
    """Add jobs of fifty minutes, one an hour. Near the ends of some, the link check fails once."""
    cluster = Cluster(settings)
    for number in range(jobs):
        cluster.job(first_id + number, node, at(number, days=first_day), at(number, minutes=50, days=first_day), state)
        if number in glitches:
            glitch(cluster, node, at(number, minutes=45, days=first_day))
    return cluster


def chance():
    """One in ten of 200 jobs that completed saw a failed check, and so did one in ten of 40 that failed."""
    cluster = busy(200, glitches=range(0, 200, 10))
    for number in range(40):
        cluster.job(1000 + number, "n1", at(number, days=10), at(number, minutes=50, days=10), "FAILED")
        if number % 10 == 0:
            glitch(cluster, "n1", at(number, minutes=45, days=10))
    return cluster


def short(seconds):
    """Two jobs share a node and fail seconds after their start. Then the kernel reports a lost GPU."""
    cluster = busy(50).kernel("n1", at(3, seconds=10, days=5), XID_79)
    for number in (100, 101):
        half = "cpu=32,gres/gpu=4,node=1"
        cluster.job(number, "n1", at(3, days=5), at(3, seconds=seconds, days=5), "FAILED", AllocTRES=half)
    return cluster


def lost_gpus(minutes):
    """Two jobs of two nodes fail after some minutes. A minute before each end the kernel reports a lost GPU."""
    cluster = busy(50)
    for day in (5, 6):
        cluster.job(100 + day, "n[1-2]", at(1, days=day), at(1, minutes=minutes, days=day), "FAILED")
        cluster.kernel("n1", at(1, minutes=minutes - 1, days=day), XID_79)
    return cluster


def two_nodes(settings=""):
    """A glitch of PCIe, the first cause of the taxonomy, on one node; a link on the other that stays down."""
    return (
        busy(50, settings=settings)
        .job(100, "n[1-2]", at(1, days=5), at(3, days=5), "FAILED")
        .check("n1", at(2, minutes=51, days=5), "check pci", 2, "0000:07:00.0 missing")
        .check("n1", at(2, minutes=56, days=5), "check pci", 0)
        .check("n2", at(2, minutes=59, seconds=50, days=5), "check ibstat", 2, "mlx5_0 is Down")
        .check("n2", at(3, minutes=4, seconds=50, days=5), "check ibstat", 2, "mlx5_0 is Down")
        .check("n2", at(3, minutes=9, seconds=50, days=5), "check ibstat", 2, "mlx5_0 is Down")
    )


CLUSTERS = {
    "coincidences": chance(),
    # No check failed near the 50 completed jobs. A GPU was lost 20 seconds before the end of the failed job.
    "plain-cause": busy(50)
    .job(100, "n1", at(1, days=5), at(3, days=5), "FAILED")
    .kernel("n1", at(2, minutes=59, seconds=40, days=5), XID_79),
    "one-second": short(1),
    "three-seconds": short(3),
    "ten-minutes": lost_gpus(10),
    "eleven-minutes": lost_gpus(11),
    "two-hours": lost_gpus(120),
    "two-hours-and-a-minute": lost_gpus(121),
    "two-nodes": two_nodes(),
    "two-nodes-pcie-first": two_nodes(settings='[attribution]\npriority = ["pcie"]'),
    # Slurm itself blames a node that does not boot for its job. A lost GPU is more specific.
    "no-boot": busy(50)
    .job(100, "n1", at(1, days=5), at(2, days=5), "BOOT_FAIL")
    .job(101, "n1", at(4, days=5), at(5, days=5), "BOOT_FAIL")
    .kernel("n1", at(4, minutes=59, days=5), XID_79),
    # The node fails a job. The check, which runs every five minutes, sees the fault after the next job has begun.
    "aftermath": busy(50)
    .job(100, "n1", at(1, days=5), at(3, days=5), "NODE_FAIL")
    .event("n1", at(3, days=5), at(3, seconds=20, days=5), "DOWN", "Not responding", "slurm(64030)")
    .job(101, "n1", at(3, minutes=1, days=5), at(3, minutes=6, days=5), "FAILED")
    .check("n1", at(3, minutes=4, days=5), "check ibstat", 2, "mlx5_0 is Down"),
    # Two boots show that the clock of n1 is eight minutes ahead. On it, the GPU was lost after the window closed.
    "clock-ahead": busy(50)
    .slurmctld(at(3, days=4), "Node n1 rebooted 180 secs ago")
    .kernel("n1", at(3, minutes=5, days=4), BOOT)
    .slurmctld(at(4, days=4), "Node n1 rebooted 180 secs ago")
    .kernel("n1", at(4, minutes=5, days=4), BOOT)
    .job(100, "n1", at(1, days=5), at(3, days=5), "FAILED")
    .kernel("n1", at(3, minutes=7, seconds=50, days=5), XID_79),
}


def failures(minimal, cluster):
    """Return the probabilities of a cluster's failures by job."""
    query = "job_id_raw, posterior_probability from marts.fct_failures inner join marts.fct_attempts"
    return dict(ask(minimal, cluster, f"{query} using (cluster_id, attempt_id) order by job_id_raw"))


def test_what_completed_jobs_see_as_often_is_no_cause(minimal):
    found = failures(minimal, "coincidences")
    assert len(found) == 4, "the paper's rule blames every failed check in the window"
    assert sum(found.values()) < 1


def test_evidence_without_coincidences_is_a_cause(minimal):
    assert failures(minimal, "plain-cause")[100] > 0.93


def test_a_job_of_a_second_does_not_explain_its_own_evidence(minimal):
    """Two seconds more change nothing: no failure came before."""
    brief, longer = (failures(minimal, name) for name in ("one-second", "three-seconds"))
    assert min(brief.values()) > 0.99
    assert brief == pytest.approx(longer)


def test_a_minute_more_or_less_of_runtime_changes_no_cause(minimal):
    """Runtimes are judged by class. Two jobs at the border of a class, or just beyond it, are alone in the class."""
    for border, behind in (("ten-minutes", "eleven-minutes"), ("two-hours", "two-hours-and-a-minute")):
        at_border = failures(minimal, border)
        assert min(at_border.values()) > 0.98
        assert failures(minimal, behind) == pytest.approx(at_border, abs=0.01)


def test_a_clock_that_is_ahead_is_set_right(minimal):
    assert failures(minimal, "clock-ahead")[100] > 0.93
    clocks = "clock_ahead_seconds, clock_offset_seconds from marts.dim_nodes "
    clocks += "inner join marts.fct_health_events using (cluster_id, node_id) where code = 79"
    assert ask(minimal, "clock-ahead", clocks) == [(480, 480)]


@pytest.mark.parametrize(
    ("cluster", "blamed"),
    [
        # The node whose check keeps failing is the culprit.
        ("two-nodes", ("n2", "ib_link")),
        # A cause that the site puts first wins over likelier ones.
        ("two-nodes-pcie-first", ("n1", "pcie")),
    ],
)
def test_the_culprit_and_its_cause(minimal, cluster, blamed):
    assert ask(minimal, cluster, "culprit_node_id, failure_category from marts.fct_failures") == [blamed]


def test_what_a_fault_shows_after_its_failure_is_no_evidence_for_the_next_job(minimal):
    found = failures(minimal, "aftermath")
    assert found[100] == 1
    assert found[101] < 0.1


def test_probabilities_are_those_of_the_view_of_exposure(minimal):
    ((failures_, exposures),) = minimal.execute(
        """
        select
            (
                select round(sum(posterior_probability), 6)
                from marts.fct_failures as failures inner join marts.dim_clusters using (cluster_id)
                anti join marts.dim_study_gaps as gaps
                    on failures.cluster_id = gaps.cluster_id and failed_at > gaps.from_at and failed_at <= gaps.to_at
                where failed_at > study_from_at and failed_at <= study_to_at
            ),
            (select round(sum(failure_probability), 6) from marts.fct_attempt_exposures)
        """
    ).fetchall()
    assert failures_ == exposures


def test_a_node_that_does_not_boot_fails_its_job(minimal):
    query = "job_id, failure_category, attribution_rule, culprit_node_id, posterior_probability "
    query += "from marts.fct_failures inner join marts.fct_attempts using (cluster_id, attempt_id, failure_category)"
    assert ask(minimal, "no-boot", f"{query} order by job_id") == [
        ("100", "system_services", "boot_failure", "n1", 1),
        ("101", "gpu_unavailable", "evidence_on_attempt_node", "n1", 1),
    ]
