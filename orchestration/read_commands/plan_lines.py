"""The answer of `faultline plan` in lines for people: will it finish, how often to checkpoint, what ETTR."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from assets.report.numbers import NO_PROGRESS, chance, confidence, duration, gpus, short, whole
from assets.report.wording import POPULATIONS, hours_span, plural, span
from orchestration.terminal import say_lines

Answer = dict[str, Any]

COUNTED = {
    "whole_node_attempts": "each failed attempt counted",
    "node_incidents": "each incident counted on every node that it took down",
    "attempts": "each failed attempt counted",
}


def print_plan(answer: Answer) -> None:
    """Print the answer for people."""
    say_lines(lines_of(answer))


def lines_of(answer: Answer) -> list[str]:
    """Put the answer into lines; the first column says what a line is about."""
    parts = parts_of(answer)
    return [f"{label if at == 0 else '':<15}{line}" for label, lines in parts.items() for at, line in enumerate(lines)]


def parts_of(answer: Answer) -> dict[str, list[str]]:
    """Put the answer into sentences, by what they are about."""
    return {
        "run": _run(answer),
        "interruptions": _interruptions(answer),
        "checkpoint": _checkpoint(answer),
        "ETTR": _ettr(answer),
        "target": _target(answer),
        "assumed": _assumed(answer),
        "rate": _rate(answer),
        "note": answer["notes"],
    }


def _run(a: Answer) -> list[str]:
    where = "at a given rate"
    if a["cluster_id"]:
        where = f"on {a['cluster_id']}{' (a simulated cluster)' if a['is_simulated'] else ''}"
    costs = ", ".join(f"{name} {_cost(a[f'{name}_minutes'])}" for name in ("restart", "write", "queue"))
    if a["spare_count"]:
        costs += f"; {plural(a['spare_count'], 'spare node')}, nodes out for {duration(a['repair_hours'])}"
        if a["probability_without_spare"] is not None:
            costs += f": {chance(a['probability_without_spare'])} of failures find no spare"
    return [
        f"{gpus(a['gpu_count'])} on {plural(a['node_count'], 'node')} for {plural_days(a['planned_days'])}, {where}",
        costs,
    ]


def _interruptions(a: Answer) -> list[str]:
    limits = f"{whole(a['expected_interruptions_low'])} to {whole(a['expected_interruptions_high'])}"
    sure = confidence(a["confidence_level"])
    if a["expected_interruptions"] is None:
        return [
            f"unknown, {limits} ({sure}): no failure was ever seen",
            f"time between two {hours_span(a['mttf_hours_low'], a['mttf_hours_high'])} ({sure})",
        ]
    every = f"one every {duration(a['mttf_hours'])}"
    if a["rate_source"] == "measured":
        every += f" ({hours_span(a['mttf_hours_low'], a['mttf_hours_high'])}, {sure})"
    return [
        f"{count_of(a['expected_interruptions'])} to expect; {limits} in a single run ({sure}); {every}",
        f"without any: {chance(a['probability_uninterrupted'])} likely",
    ]


def _checkpoint(a: Answer) -> list[str]:
    if a["checkpoint_minutes_optimal"] is None:
        least = duration(a["checkpoint_minutes_optimal_low"] / 60)
        return [f"every {least} is often enough: the best interval at the upper limit of the rate"]
    if a["write_minutes"] == 0:
        lines = ["as often as you like: a write that costs nothing loses nothing (--write says what one costs)"]
    else:
        best, young, daly = (duration(a[f"checkpoint_minutes_{name}"] / 60) for name in ("optimal", "young", "daly"))
        lines = [f"every {best} is best (Young {young}, Daly {daly})"]
    longest = a["checkpoint_minutes_longest"]
    return [
        *lines,
        f"at least every {duration(longest / 60)} for an expected ETTR of {a['ettr_target']:g}"
        if longest is not None
        else f"no interval leads to an expected ETTR of {a['ettr_target']:g}",
    ]


def _ettr(a: Answer) -> list[str]:
    sure = confidence(a["confidence_level"])
    if a["ettr_optimal"] is None:
        return [
            f"unknown, {span(a['ettr_optimal_low'], a['ettr_optimal_high'], ratio)} with the best interval ({sure})"
        ]
    if a["ettr_optimal"] < NO_PROGRESS:
        return [f"{ratio(a['ettr_optimal'])} with any interval: at this rate the run makes no progress"]
    lines = [
        f"{ratio(a['ettr_optimal'])} with the best interval: about {short(a['productive_days_optimal'])} days of "
        f"progress; {span(a['ettr_run_low'], a['ettr_run_high'], ratio)} in a single run ({sure})"
    ]
    if a["probability_ettr_ge_target_at_checkpoint"] is not None:
        lines.append(
            f"{ratio(a['ettr_expected_exact'])} with a checkpoint every {_cost(a['checkpoint_minutes'])} "
            f"({ratio(a['ettr_expected'])} by the published form)"
        )
    time = "queued and scheduled time, as the paper counts" if a["queue_minutes"] else "scheduled time, without a queue"
    return [*lines, f"progress over {time}"]


def _target(a: Answer) -> list[str]:
    if a["probability_ettr_ge_target"] is None:
        return [f"{a['ettr_target']:g}: cannot be told without a failure rate"]
    line = f"{a['ettr_target']:g} is reached with probability {chance(a['probability_ettr_ge_target'])}"
    own = a["probability_ettr_ge_target_at_checkpoint"]
    return [line if own is None else f"{line}; {chance(own)} with your checkpoints"]


def _assumed(a: Answer) -> list[str]:
    lines = []
    for assumption in a["assumptions"]:
        write, label = ASSUMED[assumption["name"]]
        known = ", as on this cluster" if assumption["source"] == "cluster" else ""
        said = f"{label} {write(assumption['value'])}" if assumption["value"] is not None else label
        if assumption["other_value"] is None:
            effect = "another value changes nothing where no attempt waits in a queue"
        elif assumption["ettr"] is None:
            effect = "what it changes cannot be told without a failure rate"
        else:
            effect = f"with {write(assumption['other_value'])} the ETTR would be {ratio(assumption['ettr'])}"
        lines.append(f"{said}{known}: {effect}")
    return lines


def _rate(a: Answer) -> list[str]:
    unit = "failures per 1,000 node-days"
    if a["rate_source"] == "given":
        return [f"{short(a['failures_per_1000_node_days'])} {unit}, taken as known"]
    limits = span(a["failures_per_1000_node_days_low"], a["failures_per_1000_node_days_high"])
    value = a["failures_per_1000_node_days"]
    return [
        f"{'unknown' if value is None else short(value)} {unit} ({limits}, {confidence(a['confidence_level'])})",
        f"{plural(a['event_count'], 'failure')} in {short(a['exposure_node_days'])} node-days of "
        f"{POPULATIONS[a['population']]}, {COUNTED[a['rate_basis']]}",
        f"months are taken to differ by {100 * a['month_cv']:.0f}%, which the limits of a single run allow for",
        *([a["evidence_note"]] if a["evidence_note"] else []),
    ]


def ratio(ettr: float | None) -> str:
    """Write an ETTR; hardly any progress has no digits."""
    return f"under {NO_PROGRESS:g}" if ettr is not None and ettr < NO_PROGRESS else short(ettr)


def count_of(expected: float) -> str:
    """Write a number of interruptions to expect."""
    return whole(expected) if expected >= 10 else short(expected, 2)


def _cost(minutes: float) -> str:
    return f"{60 * minutes:g} s" if 0 < minutes < 1 else f"{minutes:g} min"


def plural_days(days: float) -> str:
    """Write a number of days.

    >>> plural_days(30.0), plural_days(1), plural_days(0.5)
    ('30 days', '1 day', '0.5 days')
    """
    return f"{days:g} day{'' if days == 1 else 's'}"


ASSUMED: dict[str, tuple[Callable[[float], str], str]] = {
    "write_minutes": (_cost, "write"),
    "restart_minutes": (_cost, "restart"),
    "queue_minutes": (_cost, "queue"),
    "spare_count": (lambda count: f"{count:g}" if count else "none", "spare nodes"),
    "repair_hours": (duration, "repair"),
    "checkpoint_minutes": (lambda minutes: f"every {duration(minutes / 60)}", "checkpoint"),
    "gpus_per_node": (lambda count: f"{count:g}", "GPUs per node"),
}
"""How each assumption is written, and what it is called."""
