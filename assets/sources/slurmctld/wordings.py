"""Messages of slurmctld that bear on failures, preemption and drains: one pattern per wording, with what it names.

Wordings are those of Slurm's source from 18.08 on. Named groups are columns. A job is shown as 12, 12_3(15) or
12+1(13): the number in parentheses is its own id. 12_* stands for all waiting tasks of array 12 together; which of them
is meant, and so its own id, is unknown.
"""

from __future__ import annotations

from typing import NamedTuple

_JOB = r"JobId=(?:(?P<{name}_array>\d+)_\*|\d+[_+]\d+(?:\((?P<{name}>\d+)\))?|(?P<{name}_shown>\d+))"
_JOB_ID = _JOB.format(name="job")
_INSTIGATOR_ID = _JOB.format(name="instigator")
_NODES = r"(?P<nodes>[\w.\-\[\],]+)"
_STATE = r"(?P<state>DRAIN[A-Z]*[$]|[A-Z_+*]+)"
"""Of Slurm's marks behind a state, `$` is kept where a node drains: it is in a reservation for maintenance."""
_BY = r"^(?:\w+: )?"


class Wording(NamedTuple):
    """One message: the kind it states, words that stand in it, the pattern that reads it, and the state it sets."""

    kind: str
    words: str
    pattern: str
    state: str = ""


# First match wins. A job's step that is killed on a failed node is a job that gives the node up and goes on.
WORDINGS = (
    Wording(
        "preempted",
        "preempted JobId=",
        rf"{_BY}preempted {_JOB_ID} has been (?P<mode>requeued|killed|cancell?ed|suspended) "
        rf"to reclaim resources for {_INSTIGATOR_ID}",
    ),
    Wording(
        "preempted_without_instigator",
        "preempted JobId=",
        rf"{_BY}preempted {_JOB_ID} (?:had to be|has been) (?P<mode>killed|requeued|suspended)$",
    ),
    Wording(
        "job_node_failure", "due to failure of node", rf"{_BY}requeue job {_JOB_ID} due to failure of node {_NODES}"
    ),
    Wording("job_node_failure", "on failed node", rf"{_BY}Killing {_JOB_ID} on failed node {_NODES}"),
    Wording("job_node_failure", "Removing failed node", rf"{_BY}Removing failed node {_NODES} from {_JOB_ID}"),
    Wording(
        "node_not_responding",
        "not responding",
        rf"{_BY}[Nn]odes? {_NODES} not responding, setting DOWN",
        "DOWN",
    ),
    Wording("node_not_responding", "not responding", rf"{_BY}[Nn]odes? {_NODES} not responding"),
    Wording(
        "node_not_resumed",
        "not resumed by ResumeTimeout",
        rf"{_BY}[Nn]ode {_NODES} not resumed by ResumeTimeout",
        "DOWN",
    ),
    # Of the host of a cloud node nothing is left after that.
    Wording("node_powered_down", "powering down node", rf"{_BY}powering down node {_NODES}$"),
    # Slurm refuses what does not fit the state that a node has.
    Wording(
        "state_shown",
        "Invalid node state transition",
        rf"{_BY}Invalid node state transition requested for node {_NODES} from={_STATE}",
    ),
    Wording("state_shown", "Invalid state for node", rf"{_BY}Invalid state for node {_NODES}, was {_STATE}"),
    Wording("reason_set", "reason set to: ", rf"{_BY}node {_NODES} reason set to: (?P<reason>.*)$"),
    Wording(
        "drained_by_slurm",
        "state set to ",
        rf"^(?:drain_nodes|set_node_down\w*): node {_NODES} state set to {_STATE}",
    ),
    Wording(
        "node_invalid",
        "state to INVAL",
        rf"{_BY}Setting node {_NODES} state to INVAL with reason: *(?P<reason>.*)$",
        "INVAL",
    ),
    Wording("state_set", "state set to ", rf"{_BY}node {_NODES} state set to {_STATE}"),
    Wording("node_rebooted", "rebooted", rf"{_BY}[Nn]ode {_NODES} unexpectedly rebooted"),
    Wording("node_rebooted", "rebooted", rf"{_BY}[Nn]ode {_NODES} rebooted \d+ secs ago"),
    Wording("node_returned", "returned to service", rf"{_BY}[Nn]ode {_NODES} returned to service"),
    Wording("node_returned", "now responding", rf"{_BY}[Nn]ode {_NODES} now responding"),
    Wording(
        "prolog_failure", "Prolog or job env", rf"{_BY}(?P<reason>Prolog or job env setup failure) on node {_NODES}"
    ),
    Wording("prolog_failure", "Prolog launch failure", rf"{_BY}(?P<reason>Prolog launch failure), {_JOB_ID}"),
    Wording(
        "prolog_failure",
        "_slurm_rpc_complete_prolog",
        rf"^_slurm_rpc_complete_prolog\w*:? .*{_JOB_ID}.*(?P<reason>[Ee]rror|[Ff]ail\w*)",
    ),
    Wording("epilog_failure", "epilog error", rf"{_BY}{_JOB_ID} (?P<reason>epilog error) on {_NODES}, draining"),
    Wording("epilog_failure", "epilog error", rf"{_BY}epilog error {_JOB_ID} Node={_NODES}(?: Err=(?P<reason>.*))?$"),
    Wording(
        "drained_by_slurm",
        "slurmd error running",
        rf"{_BY}slurmd error running {_JOB_ID} on node\(s\)={_NODES}: (?P<reason>.*)$",
    ),
    Wording(
        "drained_by_slurm",
        "Duplicate jobid on",
        rf"{_BY}(?P<reason>Duplicate jobid) on nodes {_NODES}, set to state (?P<state>[A-Z]+)",
    ),
    Wording("job_requeued", "Requeuing JobId=", rf"{_BY}Requeuing {_JOB_ID}"),
)

RELEVANT = "|".join(dict.fromkeys(wording.words for wording in WORDINGS))
"""What every line worth reading contains."""
