"""A planted cluster in the marts that the search for lemons reads: 400 nodes over 112 days, 8 lemons.

The culprit is unknown among 8 nodes for half of the lemons' failures and a fifth of the others'. Normal nodes fail 6.5
times per 1,000 node-days, lemons 20 times as often; every node is in use for 20 hours a day.
"""

from datetime import date, datetime, timedelta

import numpy as np

from assets.warehouse import Warehouse
from tests.warehouses import insert

NODES, DAYS, LEMONS = 400, 112, tuple(f"n{number:03}" for number in range(0, 400, 50))
FIRST = date(2026, 1, 1)
LAST = FIRST + timedelta(days=DAYS - 1)

# 40 large attempts a period, on n000 every second one; n000 fails 4 of the last period's, n300 none, others 2.
PLANTED = """
insert into inputs.inp_lemon_windows_chosen by name
from (values
    ('planted', date '2026-04-22', 84, date '2026-04-22' - 83, 28, 112, '{"tickets": 2}', 512),
    ('short', date '2026-01-10', 10, date '2026-01-01', 0, 1, '{}', null)
) as windows (
    cluster_id, window_end_date, rate_days, rate_start_date, judged_days, day_count, thresholds, large_gpu_count
);
insert into marts.dim_nodes by name
select cluster_id, printf('n%03d', i) as node_id, node_id as node_name
from range(400) as nodes (i), (values ('planted'), ('short')) as clusters (cluster_id);
insert into marts.fct_node_days by name
select cluster_id, node_id, date '2026-01-01' + d::integer as day_date, 20 as in_use_hours, 20 as study_hours
from marts.dim_nodes, range(112) as days (d)
where cluster_id = 'planted' or d < 10;
insert into marts.agg_lemon_signals by name
select
    cluster_id, node_id, date '2026-04-22' as window_end_date, 0 as excl_jobid_count,
    if(node_id = 'n200', 4, 0) as xid_cnt, if(node_id in ('n000', 'n007'), 2, 0) as tickets, 0 as out_count,
    if(node_id in ('n000', 'n007'), 3, 0) as multi_node_node_fails, 0 as single_node_node_fails,
    0 as single_node_node_failure_rate
from marts.dim_nodes
where cluster_id = 'planted';
insert into marts.fct_tickets by name
select 'planted' as cluster_id, *
from (values
    ('1', 'n000', 'DIMM', '2026-03-01', '2026-03-05'),
    ('2', 'n000', 'PSU', '2026-03-02', null),
    ('3', 'n000', 'PSU', '2026-03-03', '2026-03-03'),
    ('4', 'n050', 'GPU', '2026-01-02', '2026-01-03'),
    ('5', 'n100', 'unknown', '2026-04-01', null),
    ('6', 'n150', 'GPU', '2026-04-01', null),
    ('7', 'n001', 'NIC', '2026-04-01', null)
) as tickets (ticket_id, node_id, component, opened_at, closed_at);
insert into marts.fct_attempts by name
select
    'planted' as cluster_id, 'a' || p || '-' || i as attempt_id, true as is_terminal, 512 as job_gpu_count,
    timestamp '2026-01-05' + to_days(28 * p) as started_at, timestamp '2026-01-06' + to_days(28 * p) as ended_at
from range(4) as periods (p), range(40) as attempts (i);
insert into marts.fct_attempt_nodes by name
select
    cluster_id, attempt_id, if(split_part(attempt_id, '-', 2)::integer % 2 = 0, 'n000', 'n001') as node_id
from marts.fct_attempts
where cluster_id = 'planted';
alter table marts.fct_failures alter failure_category set default 'pcie';
insert into marts.fct_failures by name
select 'planted' as cluster_id, *
from (values
    ('a3-0', 'n000'), ('a3-2', 'n000'), ('a3-4', 'n000'), ('a3-6', 'n000'), ('a3-1', 'n001'), ('a3-8', null)
) as failures (attempt_id, culprit_node_id);
"""


def plant(house: Warehouse) -> None:
    """Replace the five clusters in the marts by the planted cluster and a short one of 6 failures."""
    rng = np.random.default_rng(20241029)
    failures = [
        (f"n{number:03}", day)
        for number in range(NODES)
        for day in range(DAYS)
        if rng.random() < (0.13 if f"n{number:03}" in LEMONS else 0.0065) * 20 / 24
    ]
    suspects = []
    for incident, (node, day) in enumerate(failures):
        at = datetime(2026, 1, 1, 10) + timedelta(days=day)
        is_known = rng.random() < (0.5 if node in LEMONS else 0.8)
        others = [f"n{other:03}" for other in rng.choice(NODES, 7, replace=False)]
        for name in [node] if is_known else sorted({node, *others}):
            suspects.append(("planted", f"i{incident}", name, is_known, at))
    suspects += [("short", f"s{n}", f"n{n:03}", True, datetime(2026, 1, 3)) for n in range(6)]
    with house.writing() as con:
        con.execute("delete from marts.dim_clusters")
        insert(con, "marts.dim_clusters", [{"cluster_id": "planted"}, {"cluster_id": "short"}])
        con.execute(PLANTED)
        names = ("cluster_id", "incident_id", "node_id", "is_known", "failed_at")
        given = {"incident_probability": 1.0, "lost_gpu_hours": 4.0}
        insert(con, "marts.fct_incident_suspects", [dict(zip(names, row, strict=True)) | given for row in suspects])
