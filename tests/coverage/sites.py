"""The sites: small clusters that differ in size, density of false alarms, checks and exports."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Site:
    """One cluster. Rates are per 1,000 node-days in use, shares are 0 to 1, times are seconds unless a name says so."""

    name: str
    node_count: int = 96
    gpus_per_node: int = 8
    load: float = 0.55
    """Node-days asked for, as a share of what the nodes have."""
    one_gpu_share: float = 0.45
    """Share of jobs that take one GPU, or a few, of a node that jobs share."""
    large_share: float = 0.05
    """Share of jobs with more than 128 GPUs."""
    large_hours: float = 10.0
    """Median runtime of a job with more than 128 GPUs."""
    runtime_factor: float = 1.0
    """Factor on the runtime of jobs: shorter jobs mean more failures of users for each failure of a node."""
    user_failure_share: float = 0.25
    fault_rate: float = 10.0
    month_cv: float = 0.0
    """Spread of the monthly rates around their mean: standard deviation over mean."""
    lemon_count: int = 0
    lemon_factor: float = 15.0
    switch_rate: float = 0.0
    """Incidents of a switch per 1,000 switch-days; each of its nodes is struck with `switch_reach`."""
    switch_reach: float = 0.5
    nodes_per_switch: int = 16
    node_fail_share: float = 0.45
    """Faults that end jobs as NODE_FAIL; the others end as FAILED, or as REQUEUED with `requeued_share` of those."""
    requeued_share: float = 0.15
    node_fail_delay: float = 60.0
    """Longest time from a fault to the end of its jobs."""
    failed_delay: float = 60.0
    """The same for jobs that end as FAILED or REQUEUED: they may wait for a lost peer for minutes."""
    transient_share: float = 0.2
    """Faults that clear by themselves within a few check periods."""
    check_period: float = 300.0
    health: str = "gcm"
    """`gcm` (JSON lines), `nhc` (text lines), or `none`."""
    reported: str = "changes"
    """`failures`: only failures; `changes`: also the first success after them, and one a day; `all`: also every
    success of the first check."""
    has_kernel: bool = True
    kernel_share: float = 0.5
    """Faults that the kernel logs, seconds around them."""
    second_check_share: float = 0.35
    """Faults that a second check sees as well."""
    false_alarm_share: float = 0.003
    """Completed attempts that have a false alarm inside the attribution window."""
    transient_alarm_share: float = 0.7
    drained_alarm_share: float = 0.1
    alarms_in_a_row: float = 1.0
    """Mean number of false alarms of a node that follow one another within hours."""
    flaky_count: int = 3
    flaky_factor: float = 25.0
    maintenance_count: int = 0
    """Number of times that a rack is taken out of service with the jobs on it."""
    timezone: str = "UTC"
    is_epoch: bool = True
    """Whether accounting gives epoch seconds; local time without an offset otherwise."""
    outages: str = "events"
    """Where outages are written: `events` (sacctmgr show event), `slurmctld`, or `none`."""
    is_cut_at_start: bool = True
    """Whether some jobs began before the export; otherwise the cluster starts empty."""


SITES = (
    Site("alder", node_count=96, fault_rate=12.0, false_alarm_share=0.003),
    Site("birch", node_count=72, runtime_factor=0.5, fault_rate=16.0, false_alarm_share=0.01, health="nhc",
         reported="failures", check_period=600.0, kernel_share=0.7, timezone="Europe/Berlin", is_epoch=False),
    Site("cedar", node_count=128, fault_rate=9.0, false_alarm_share=0.0005, reported="failures", lemon_count=2,
         has_kernel=False, outages="none"),
    Site("dogwood", node_count=140, gpus_per_node=4, runtime_factor=0.4, fault_rate=8.0, false_alarm_share=0.01,
         reported="failures", check_period=60.0, has_kernel=False, timezone="America/New_York", is_epoch=False,
         outages="slurmctld"),
    Site("elm", node_count=44, fault_rate=22.0, false_alarm_share=0.003, one_gpu_share=0.75, reported="all",
         check_period=600.0, is_cut_at_start=False),
    Site("fir", node_count=160, runtime_factor=0.5, fault_rate=10.0, month_cv=0.4, false_alarm_share=0.03,
         user_failure_share=0.3, flaky_count=6),
    Site("ginkgo", node_count=96, runtime_factor=0.4, fault_rate=8.0, switch_rate=25.0, false_alarm_share=0.01,
         node_fail_share=0.25, outages="slurmctld"),
    Site("hazel", node_count=80, fault_rate=14.0, false_alarm_share=0.003, health="nhc", reported="failures",
         node_fail_share=0.6, node_fail_delay=300.0, requeued_share=0.5, maintenance_count=2,
         timezone="Asia/Tokyo"),
)  # fmt: skip
"""Eight sites; more clusters take them in turn with other seeds."""


FOREIGN = (
    # Only accounting and the failures of checks; half of the failures pass at once.
    Site("acacia", node_count=96, fault_rate=12.0, false_alarm_share=0.005, reported="failures",
         transient_share=0.5, has_kernel=False, outages="none"),
    # Only accounting and kernel logs.
    Site("baobab", node_count=96, fault_rate=12.0, false_alarm_share=0.005, health="none", kernel_share=1.0),
    # Flaky nodes give their false alarms in long rows.
    Site("coral", node_count=96, fault_rate=12.0, false_alarm_share=0.02, flaky_count=4, alarms_in_a_row=12.0),
    # Jobs die minutes after the fault, and checks come seldom.
    Site("durian", node_count=96, fault_rate=12.0, false_alarm_share=0.005, failed_delay=480.0,
         check_period=600.0, outages="slurmctld"),
    # Many nodes, and jobs that are small and short.
    Site("ebony", node_count=1000, load=0.03, runtime_factor=0.4, one_gpu_share=0.8, large_share=0.0005,
         fault_rate=12.0, false_alarm_share=0.001, flaky_count=10),
    # Few failures.
    Site("fig", node_count=40, fault_rate=3.0, false_alarm_share=0.003, large_share=0.02),
    # Few faults end a job as NODE_FAIL, and users fail often.
    Site("guava", node_count=96, runtime_factor=0.4, fault_rate=12.0, user_failure_share=0.5,
         node_fail_share=0.05, false_alarm_share=0.01, requeued_share=0.0, kernel_share=0.2),
    # Outages have no reason, and faults and alarms last.
    Site("holly", node_count=64, fault_rate=20.0, false_alarm_share=0.01, transient_alarm_share=0.1,
         transient_share=0.0, drained_alarm_share=0.5, health="nhc", reported="failures", has_kernel=False),
)  # fmt: skip
"""Sites unlike the eight: the evidence that attribution uses there is missing or has another form."""


def hard(site: Site) -> Site:
    """Return the same site with three times the false alarms, transient faults and few second signs."""
    return replace(
        site,
        false_alarm_share=min(0.03, 3 * site.false_alarm_share),
        transient_share=0.35,
        second_check_share=0.2,
        kernel_share=0.3,
        flaky_count=2 * site.flaky_count,
        maintenance_count=max(1, site.maintenance_count),
    )
