"""Whether a check that fails again reports a new fault or still the old one."""

import json

import pytest

from tests.logs import Cluster, at
from tests.minimal.reading import ask


def failing(*minutes):
    """Return logs of a check that fails at these minutes after ten o'clock."""
    cluster = Cluster().job(1, "n1", at(0), at(9)).job(2, "n1", at(20), at(23))
    for minute in minutes:
        cluster.check("n1", at(10, minutes=minute), "check pci", message="link width is x8")
    return cluster


def sel(number, clock, event):
    return f"  {number} | 05/01/2024 | {clock} | {event} | Asserted"


def xid_event(clock, code="94"):
    """Return an event of NVSentinel's check of the kernel's log."""
    return json.dumps(
        {
            "checkName": "SysLogsXIDError",
            "isFatal": True,
            "isHealthy": False,
            "message": "XID error",
            "errorCode": [code],
            "entitiesImpacted": [{"entityType": "gpu", "entityValue": "0"}],
            "generatedTimestamp": f"2024-05-01T{clock}Z",
            "nodeName": "n1",
        }
    )


def nvsentinel(minutes, is_healthy, *gpus):
    return json.dumps(
        {
            "checkName": "GpuMemWatch",
            "isFatal": not is_healthy,
            "isHealthy": is_healthy,
            "message": "no health failures" if is_healthy else "DBE detected",
            "entitiesImpacted": [{"entityType": "GPU", "entityValue": gpu} for gpu in gpus],
            "generatedTimestamp": f"{at(10, minutes=minutes).isoformat()}Z",
            "nodeName": "n1",
        }
    )


CLUSTERS = {
    # The agent restarts after half an hour and reports the state of each GPU, and last the state of all.
    "gpus-watched-apart": failing(-60).file(
        "health/nvsentinel.jsonl",
        nvsentinel(0, False, "3"),
        nvsentinel(30, True, "0"),
        nvsentinel(30, False, "3"),
        nvsentinel(60, False, "5"),
        nvsentinel(90, True, "3", "5"),
        nvsentinel(120, False, "3"),
        nvsentinel(150, True),
        nvsentinel(180, False, "3"),
    ),
    # Entries of one second, of successive quarters of an hour, and some from before the clock was set.
    "event-log": failing(-60).file(
        "health/n1/sel.log",
        "  1 | Pre-Init | 0000000089 | Power Supply #0x51 | Presence detected | Asserted",
        "  2 | Pre-Init | 0000000090 | Power Supply #0x52 | Presence detected | Asserted",
        sel(3, "10:00:00", "Power Supply #0x51 | Redundancy lost"),
        sel(4, "10:00:00", "Power Supply #0x51 | Power Supply AC lost"),
        sel(5, "10:00:00", "Power Supply #0x52 | Power Supply AC lost"),
        *(sel(6 + step, f"11:{15 * step:02}:00", "Memory #0x53 | Uncorrectable ECC") for step in range(3)),
    ),
    # NVSentinel records each Xid when it occurs.
    "events-of-an-agent": Cluster()
    .job(1, "n1", at(0), at(9))
    .job(2, "n1", at(10), at(11), "FAILED")
    .job(3, "n1", at(11, minutes=5), at(12), "FAILED")
    .job(4, "n1", at(13), at(14))
    .file("health/nvsentinel.jsonl", xid_event("10:58:00"), xid_event("10:58:02"), xid_event("11:58:00")),
}


ONSETS = {
    # Each entry of an event log is an event at its time.
    "event-log": [-60, 0, 60, 75, 90],
    # A repeated Xid is a new event.
    "events-of-an-agent": [58, 118],
    # A healthy GPU says nothing about another GPU.
    "gpus-watched-apart": [-60, 0, 60, 120, 180],
}
"""Minutes after ten o'clock at which a fault begins."""


@pytest.mark.parametrize("cluster", ONSETS)
def test_a_check_that_fails_again_tells_of_a_new_fault_or_of_the_old_one(minimal, cluster):
    since = "date_diff('minute', timestamp '2024-05-01 10:00', observed_at)"
    found = ask(minimal, cluster, f"{since} from marts.fct_health_events order by observed_at")
    assert found == [(minutes,) for minutes in ONSETS[cluster]]


def test_what_a_machine_logged_before_its_clock_was_set_does_not_make_its_log_doubtful(minimal):
    assert ask(minimal, "event-log", "distinct status from ops.files where kind = 'health'") == [("read",)]


def test_an_xid_that_strikes_again_fails_the_next_job_too(minimal):
    failed = "job_id from marts.fct_attempts where is_infrastructure_failure order by job_id"
    assert ask(minimal, "events-of-an-agent", failed) == [("2",), ("3",)]
