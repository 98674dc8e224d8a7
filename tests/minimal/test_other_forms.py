"""Logs in other forms than Slurm's and syslog's own: kernel messages of log shippers, accounting of another locale."""

import json

from tests.logs import Cluster, at

XID = "NVRM: Xid (PCI:0000:9b:00): 79, pid=1, name=python, GPU has fallen off the bus."


def iso(moment):
    """A moment as a shipper writes it."""
    return f"{moment.isoformat()}.123456789Z"


def european(moment):
    """A moment as a locale prints it."""
    return moment.strftime("%d/%m/%Y %H:%M:%S")


def shippers() -> Cluster:
    """Three jobs that end with their nodes; each node's kernel log came through another shipper."""
    cluster = Cluster().inventory("n[1-4]").job(4, "n4", at(0), at(9))
    for number in range(1, 4):
        cluster.job(number, f"n{number}", at(number), at(number + 5), "NODE_FAIL")
    seconds = [round((at(number + 5) - at(0)).total_seconds()) + 1714521600 - 60 for number in range(4)]
    loki = {"stream": {"host": "n1", "job": "kern"}, "values": [[f"{seconds[1]}000000000", f"kernel: {XID}"]]}
    fluent_bit = {"date": float(seconds[2]), "host": "n2", "ident": "kernel", "message": XID}
    cloud = {"jsonPayload": {"message": XID}, "labels": {"instance_name": "n3"}, "timestamp": iso(at(8, minutes=-1))}
    return (
        cluster.file("kernel/loki.json", json.dumps({"data": {"resultType": "streams", "result": [loki]}}))
        .file("kernel/fluentbit.jsonl", json.dumps(fluent_bit))
        .file("kernel/cloud.jsonl", json.dumps(cloud))
    )


def locale() -> Cluster:
    """Two jobs whose times are in the format that the settings name."""
    settings = 'timezone = "Europe/Paris"\n[accounting]\ntime_format = "%d/%m/%Y %H:%M:%S"'
    cluster = Cluster(settings).inventory("n[1-2]")
    for number, begin in ((1, at(days=24, hours=10)), (2, at(days=33, hours=8))):
        times = {"Submit": begin, "Eligible": begin, "Start": begin, "End": begin.replace(hour=begin.hour + 2)}
        cluster.job(number, f"n{number}", begin, times["End"], **{name: european(when) for name, when in times.items()})
    return cluster


CLUSTERS = {"shippers": shippers(), "locale": locale()}


def test_a_fault_that_a_shipper_told_is_the_cause(minimal):
    found = minimal.execute(
        "select culprit_node_id, evidence_count from marts.fct_failures where cluster_id = 'shippers' order by 1"
    ).fetchall()
    assert found == [("n1", 1), ("n2", 1), ("n3", 1)]


def test_times_of_a_locale_are_local_times(minimal):
    found = minimal.execute(
        "select started_at, runtime_seconds from marts.fct_attempts where cluster_id = 'locale' order by 1"
    ).fetchall()
    assert found == [(at(days=24, hours=8), 7200), (at(days=33, hours=6), 7200)]
