"""Names that are stored as small numbers: states and outcomes of attempts, scheduling classes, and mechanisms."""

from __future__ import annotations

STATES = (
    *("RUNNING", "PENDING", "COMPLETED", "FAILED", "CANCELLED", "REQUEUED"),
    *("TIMEOUT", "OUT_OF_MEMORY", "PREEMPTED", "NODE_FAIL"),
)
RUNNING, PENDING, COMPLETED, FAILED, CANCELLED, REQUEUED, TIMEOUT, OUT_OF_MEMORY, PREEMPTED, NODE_FAIL = range(10)

QOS = ("scavenger", "normal", "high")
QOS_SCAVENGER, TOP_QOS = 0, 2

CRASH, EVICT, REQUEUE, LOST, REBOOT, OPERATOR, LAUNCH, DRAIN, ALARM = range(9)
MECHANISMS = ("crash", "evict", "requeue", "lost", "reboot", "operator", "launch", "drain", "alarm")
"""How a fault affects the jobs of its node.

crash      the application dies within seconds: FAILED; the epilog check or the next periodic one finds the fault
evict      the application hangs; the next check finds the fault and sets the node DOWN: NODE_FAIL
requeue    as evict, but the remedy requeues the jobs and drains the node: REQUEUED
lost       the node falls silent; Slurm gives up after its heartbeat limit: NODE_FAIL
reboot     the node restarts by itself; Slurm notices when it registers again: NODE_FAIL
operator   a person sets the node DOWN: NODE_FAIL
launch     the fault is silent until the next job's prolog fails: REQUEUED with no run time
drain      low severity: the node is drained once its jobs have ended; no job fails
alarm      a check fails without a fault and passes again soon; nobody acts
"""
