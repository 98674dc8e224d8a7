"""The availability of nodes, and the burn rate of the error budget."""

import pytest

from tests.logs import Cluster, at
from tests.minimal.reading import ask

SPAN = '[[spans]]\nkind = "{kind}"\nfrom = 2024-05-01\nto = {to}\n'
JOBS = [(1, "n[1-2]", 0, 6), (2, "n1", 20, 24), (3, "n1", 22, 26), (4, "n[1-2]", 46, 48)]


def two_days(settings=""):
    """Two nodes for two days: 22 node-hours of jobs, as two hours are shared."""
    cluster = Cluster(settings + SPAN.format(kind="sacct", to="2024-05-03"))
    for number, nodes, start, end in JOBS:
        cluster.job(number, nodes, at(start), at(end))
    return cluster


def out_daily(minutes, days):
    """Two nodes for 29 days; one is down on some days. Of the 48 node-hours a day, 0.48 may fail."""
    settings = "".join(SPAN.format(kind=kind, to="2024-05-30") for kind in ("sacct", "events"))
    cluster = Cluster(f"[availability]\nobjective = 0.99\n{settings}")
    for day in range(29):
        cluster.job(day + 1, "n[1-2]", at(1, days=day), at(7, days=day))
    for day in days:
        cluster.event("n1", at(8, days=day), at(8, days=day, minutes=minutes), "DOWN", "PSU failure")
    return cluster


CLUSTERS = {
    # No job can use a host that only a list of places names.
    # n1: planned work 8 to 12, two hours of it with a fault, which lasts two hours more; 25 to 28, an hour with a job.
    "hours-of-every-kind": two_days("[availability]\nobjective = 0.9\n")
    .event("n1", at(8), at(12), "DRAIN", "maint: replace cable")
    .event("n1", at(10), at(14), "DOWN", "PSU failure")
    .event("n1", at(25), at(28), "DOWN", "PSU failure")
    .event("n2", at(30), at(33), "DRAIN", "looks odd")
    .file("inventory/topology_2024-05-01.conf", "SwitchName=leaf1 Nodes=n[1-2],storage1"),
    "states-of-nodes-unknown": two_days(),
    # Accounting of the first morning and of the third day.
    "gap-until-midnight": Cluster(
        SPAN.format(kind="sacct", to="2024-05-01T12:00:00Z")
        + SPAN.format(kind="sacct", to="2024-05-04").replace("from = 2024-05-01", "from = 2024-05-03")
        + SPAN.format(kind="events", to="2024-05-04")
    )
    .job(1, "n[1-2]", at(0), at(6))
    .job(2, "n[1-2]", at(48), at(54))
    .event("n1", at(60), at(61), "DOWN", "PSU failure"),
    "out-when-the-node-events-end": two_days(SPAN.format(kind="events", to="2024-05-02")).event(
        "n1", at(8), None, "DOWN", "PSU failure"
    ),
    "burns-fast": out_daily(180, range(26, 29)),
    "burns-medium": out_daily(60, range(29)),
    "burns-slowly": out_daily(36, range(29)),
    "burned-and-stopped": out_daily(600, range(2, 5)),
}


HOURS = {
    # Failed: n1 from 12 to 14 and from 26 to 28 (a job has it until 26), and three hours of n2 for no known reason.
    "hours-of-every-kind": (22, 63, 4, 7, 0, 96, 3),
    # Without the states of nodes, hours without a job are unknown.
    "states-of-nodes-unknown": (22, 0, 0, 0, 74, 96, 0),
    # A gap that ends at midnight hides nothing of the day after.
    "gap-until-midnight": (24, 35, 0, 1, 84, 144, 0),
    # Out from 8 until a job starts at 20 hours. On the second day, only jobs are known.
    "out-when-the-node-events-end": (22, 20, 0, 12, 42, 96, 0),
}
"""Node-hours allocated, idle, planned out, failed, unknown, in total, and unmapped."""
SHARES = {
    # Shares exclude planned hours. 7 of 92 hours failed, and 9.2 may fail.
    "hours-of-every-kind": (*[85 / 92] * 3, 1 - 7 / 9.2),
    "states-of-nodes-unknown": (None, 22 / 96, 1, None),
    "out-when-the-node-events-end": (36 / 48, 42 / 96, 84 / 96, None),
}
"""Availability with its limits, and the remaining share of the error budget."""
BURNS = {
    # On the second day 5 of 48 hours failed, and 4.8 may.
    "hours-of-every-kind": (5 / 4.8, None, None, None, None),
    "burns-fast": (6.25, 6.25, 9 / 3.36, 9 / 13.44, "fast"),
    "burns-medium": (*[1 / 0.48] * 4, "medium"),
    "burns-slowly": (*[0.6 / 0.48] * 4, "slow"),
    "burned-and-stopped": (0, 0, 0, 30 / 13.44, None),
}
"""Burn rates of 1, 3, 7 and 28 days, and the pace by a long and a short window."""
COLUMNS = {
    "allocated_node_hours, idle_node_hours, planned_out_node_hours, failed_node_hours, unknown_node_hours, "
    "total_node_hours, unmapped_node_hours": HOURS,
    "availability, availability_low, availability_high, error_budget_left": SHARES,
    "burn_rate_1d, burn_rate_3d, burn_rate_7d, burn_rate_28d, burn_pace": BURNS,
}


@pytest.mark.parametrize(
    ("columns", "cluster", "expected"),
    [(columns, *case) for columns, cases in COLUMNS.items() for case in cases.items()],
)
def test_a_month_of_what_the_nodes_delivered(minimal, columns, cluster, expected):
    (found,) = ask(minimal, cluster, f"{columns} from marts.agg_availability_monthly")
    assert [value if isinstance(value, str) else pytest.approx(value) for value in expected] == [*found]
