"""Messages of slurmctld that bear on failures, preemption and drains: one pattern per wording, with what it names.

Wordings are those of Slurm's source from 18.08 on. Named groups are columns. A job is shown as 12, 12_3(15) or
12+1(13): the number in parentheses is its own id.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_JOB = r"JobId=(?P<{name}_shown>\d+)(?:[_+][\d*]+)?(?:\((?P<{name}>\d+)\))?"
_JOB_ID = _JOB.format(name="job")
_INSTIGATOR_ID = _JOB.format(name="instigator")
_NODES = r"(?P<nodes>[\w.\-\[\],]+)"
_BY = r"^(?:\w+: )?"


@dataclass(frozen=True)
class Wording:
    """One message: the kind it states, and the pattern that reads it."""

    kind: str
    pattern: str
    state: str | None = None


# First match wins. A job's step that is killed on a failed node is a job that gives the node up and goes on.
WORDINGS = (
    Wording(
        "preempted",
        rf"{_BY}preempted {_JOB_ID} has been (?P<mode>requeued|killed|cancell?ed|suspended) "
        rf"to reclaim resources for {_INSTIGATOR_ID}",
    ),
    Wording(
        "preempted_without_instigator",
        rf"{_BY}preempted {_JOB_ID} (?:had to be|has been) (?P<mode>killed|requeued|suspended)$",
    ),
    Wording("job_node_failure", rf"{_BY}requeue job {_JOB_ID} due to failure of node {_NODES}"),
    Wording("job_node_failure", rf"{_BY}Killing {_JOB_ID} on failed node {_NODES}"),
    Wording("job_node_failure", rf"{_BY}Removing failed node {_NODES} from {_JOB_ID}"),
    Wording("node_not_responding", rf"{_BY}[Nn]odes? {_NODES} not responding, setting DOWN", "DOWN"),
    Wording("node_not_responding", rf"{_BY}[Nn]odes? {_NODES} not responding"),
    Wording("reason_set", rf"{_BY}node {_NODES} reason set to: (?P<reason>.*)$"),
    Wording("drained_by_slurm", rf"^(?:drain_nodes|set_node_down\w*): node {_NODES} state set to (?P<state>[A-Z_+*]+)"),
    Wording("state_set", rf"{_BY}node {_NODES} state set to (?P<state>[A-Z_+*]+)"),
    Wording("node_rebooted", rf"{_BY}[Nn]ode {_NODES} unexpectedly rebooted"),
    Wording("node_rebooted", rf"{_BY}[Nn]ode {_NODES} rebooted \d+ secs ago"),
    Wording("node_returned", rf"{_BY}[Nn]ode {_NODES} (?:returned to service|now responding)"),
    Wording("prolog_failure", rf"{_BY}(?P<reason>Prolog or job env setup failure) on node {_NODES}"),
    Wording("prolog_failure", rf"{_BY}(?P<reason>Prolog launch failure), {_JOB_ID}"),
    Wording("prolog_failure", rf"^_slurm_rpc_complete_prolog\w*:? .*{_JOB_ID}.*(?P<reason>[Ee]rror|[Ff]ail\w*)"),
    Wording("epilog_failure", rf"{_BY}{_JOB_ID} (?P<reason>epilog error) on {_NODES}, draining"),
    Wording("epilog_failure", rf"{_BY}epilog error {_JOB_ID} Node={_NODES}(?: Err=(?P<reason>.*))?$"),
    Wording("drained_by_slurm", rf"{_BY}slurmd error running {_JOB_ID} on node\(s\)={_NODES}: (?P<reason>.*)$"),
    Wording("job_requeued", rf"{_BY}Requeuing {_JOB_ID}"),
)

RELEVANT = (
    "preempted JobId=|due to failure of node|on failed node|Removing failed node|not responding|reason set to: |"
    "state set to |rebooted|returned to service|now responding|Prolog or job env|Prolog launch failure|"
    "_slurm_rpc_complete_prolog|epilog error|slurmd error running|Requeuing JobId="
)
"""What every line worth reading contains."""


def _extract(place: int, wording: Wording) -> str:
    # DuckDB gives the names to the groups by their order
    names = re.findall(r"\?P<(\w+)>", wording.pattern)
    return f"regexp_extract(message, '{wording.pattern}', {names}) as w{place}"


def _value(column: str) -> str:
    """Give SQL for a column: the group of the wording that matched."""
    branches = []
    for place, wording in enumerate(WORDINGS):
        if f"(?P<{column}>" in wording.pattern:
            branches.append(f"when wording = {place} then nullif(w{place}.{column}, '')")
        elif column == "state" and wording.state:
            branches.append(f"when wording = {place} then '{wording.state}'")
    return f"case {' '.join(branches)} end"


def events(table: str) -> str:
    """Give the query that reads the messages of a table (file_id, line_number, logged_at, message)."""
    first = " ".join(f"when regexp_matches(message, '{w.pattern}') then {place}" for place, w in enumerate(WORDINGS))
    kinds = " ".join(f"when wording = {place} then '{w.kind}'" for place, w in enumerate(WORDINGS))
    mode = _value("mode")
    return f"""
with worded as (
    select *, case {first} end as wording from {table}
),
matched as (
    select *, {", ".join(_extract(place, wording) for place, wording in enumerate(WORDINGS))}
    from worded
    where wording is not null
)
select
    file_id,
    line_number,
    logged_at,
    case {kinds} end as kind,
    try_cast(coalesce({_value("job")}, {_value("job_shown")}) as bigint) as job_id_raw,
    try_cast(coalesce({_value("instigator")}, {_value("instigator_shown")}) as bigint) as instigator_job_id_raw,
    case when {mode} in ('cancelled', 'canceled') then 'killed' else {mode} end as preempt_mode,
    rtrim({_value("nodes")}, ',.') as node_list,
    rtrim({_value("state")}, '*') as state,
    {_value("reason")} as reason,
    message
from matched"""
