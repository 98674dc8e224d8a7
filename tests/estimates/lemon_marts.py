"""The marts that the search for lemons reads, and a planted cluster in them: 400 nodes over 112 days, 8 lemons.

Half of the lemons' and a fifth of the others' failures are of unknown culprit among 8 nodes. Normal nodes fail 6.5
times per 1,000 node-days, lemons 20 times as often; every node is in use for 20 hours a day.
"""

from datetime import date, datetime, timedelta

import numpy as np

from assets.warehouse import Warehouse

NODES, DAYS, LEMONS = 400, 112, tuple(f"n{number:03}" for number in range(0, 400, 50))
FIRST = date(2026, 1, 1)
LAST = FIRST + timedelta(days=DAYS - 1)

MARTS = """
create table marts.dim_nodes (cluster_id varchar, node_id varchar, node_name varchar);
create table marts.agg_lemon_windows (
    cluster_id varchar, is_simulated boolean, window_end_date date, signal_days integer, rate_days integer,
    rate_start_date date, judged_days integer, day_count integer, thresholds json, large_gpu_count integer
);
create table marts.fct_node_days (
    cluster_id varchar, node_id varchar, day_date date, in_use_hours double,
    study_hours double generated always as (in_use_hours)
);
create table marts.agg_lemon_signals (
    cluster_id varchar, node_id varchar, window_end_date date, excl_jobid_count integer, xid_cnt integer,
    tickets integer, out_count integer, multi_node_node_fails integer, single_node_node_fails integer,
    single_node_node_failure_rate double
);
create table marts.fct_incident_suspects (
    cluster_id varchar, incident_id varchar, node_id varchar, is_known boolean, failed_at timestamp,
    lost_gpu_hours double, incident_probability double default 1
);
create table marts.fct_failures (
    cluster_id varchar, attempt_id varchar, culprit_node_id varchar, incident_id varchar,
    posterior_probability double default 1
);
create table marts.fct_attempt_nodes (cluster_id varchar, attempt_id varchar, node_id varchar);
create table marts.fct_tickets (
    cluster_id varchar, ticket_id varchar, node_id varchar, component varchar, opened_at timestamp, closed_at timestamp
);
"""


def create(con) -> None:
    """Make the tables, empty: no cluster has accounting."""
    con.execute(MARTS)


def plant(house: Warehouse) -> None:
    """Fill them with the planted cluster, and a short one of 6 failures."""
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
            suspects.append(("planted", f"i{incident}", name, is_known, at, 4.0))
    suspects += [("short", f"s{n}", f"n{n:03}", True, datetime(2026, 1, 3), 4.0) for n in range(6)]
    with house.writing() as con:
        con.execute("delete from marts.dim_clusters")
        con.execute("insert into marts.dim_clusters (cluster_id) values ('planted'), ('short')")
        con.execute(
            "insert into marts.agg_lemon_windows values "
            "('planted', true, $1, 28, 84, $1::date - 83, 28, 112, '{\"tickets\": 2}', 512), "
            "('short', false, date '2026-01-10', 10, 10, date '2026-01-01', 0, 1, '{}', null)",
            [LAST],
        )
        con.execute(
            "insert into marts.dim_nodes select c, printf('n%03d', i), printf('n%03d', i) "
            "from range(400) t(i), (values ('planted'), ('short')) s(c)"
        )
        con.execute(
            "insert into marts.fct_node_days select 'planted', printf('n%03d', i), date '2026-01-01' + d::integer, 20 "
            "from range(400) t(i), range(112) s(d)"
        )
        con.execute(
            "insert into marts.fct_node_days select 'short', printf('n%03d', i), date '2026-01-01' + d::integer, 20 "
            "from range(400) t(i), range(10) s(d)"
        )
        con.executemany(
            "insert into marts.fct_incident_suspects "
            "(cluster_id, incident_id, node_id, is_known, failed_at, lost_gpu_hours) values ($1, $2, $3, $4, $5, $6)",
            suspects,
        )
        con.execute(
            "insert into marts.agg_lemon_signals select 'planted', node_id, $1, 0, if(node_id = 'n200', 4, 0), "
            "if(node_id in ('n000', 'n007'), 2, 0), 0, if(node_id in ('n000', 'n007'), 3, 0), 0, 0 "
            "from marts.dim_nodes where cluster_id = 'planted'",
            [LAST],
        )
        con.execute(
            "insert into marts.fct_tickets values "
            "('planted', '1', 'n000', 'DIMM', '2026-03-01', '2026-03-05'), "
            "('planted', '2', 'n000', 'PSU', '2026-03-02', null), "
            "('planted', '3', 'n000', 'PSU', '2026-03-03', '2026-03-03'), "
            "('planted', '4', 'n050', 'GPU', '2026-01-02', '2026-01-03'), "
            "('planted', '5', 'n100', 'unknown', '2026-04-01', null), "
            "('planted', '6', 'n150', 'GPU', '2026-04-01', null), "
            "('planted', '7', 'n001', 'NIC', '2026-04-01', null)"
        )
        # 40 large attempts a period, on n000 every second one; n000 fails 4 of the last period's, n300 none, others 2
        con.execute(
            "insert into marts.fct_attempts (cluster_id, attempt_id, is_terminal, gpu_count, started_at, ended_at) "
            "select 'planted', 'a' || p || '-' || i, true, 512, timestamp '2026-01-05' + to_days(28 * p), "
            "timestamp '2026-01-06' + to_days(28 * p) from range(4) s(p), range(40) t(i)"
        )
        con.execute(
            "insert into marts.fct_attempt_nodes select cluster_id, attempt_id, "
            "if(split_part(attempt_id, '-', 2)::integer % 2 = 0, 'n000', 'n001') "
            "from marts.fct_attempts where cluster_id = 'planted'"
        )
        con.execute(
            "insert into marts.fct_failures (cluster_id, attempt_id, culprit_node_id) values "
            "('planted', 'a3-0', 'n000'), ('planted', 'a3-2', 'n000'), "
            "('planted', 'a3-4', 'n000'), ('planted', 'a3-6', 'n000'), ('planted', 'a3-1', 'n001'), "
            "('planted', 'a3-8', null)"
        )
