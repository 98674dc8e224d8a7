"""Which health check to trust: how often its alarms are true, how early they are, what they cost, and what to do."""

from __future__ import annotations

from assets.model.check_scores import CANNOT_TELL, DROP, KEEP, TUNE
from assets.report.blocks import Section, note, section
from assets.report.numbers import duration, printable, share, short, whole
from assets.report.queries import Own, Row, grouped
from assets.report.tables import Col, table
from assets.report.wording import plural, span

ADVICE = {DROP: "Drop", TUNE: "Tune", KEEP: "Keep"}
AT_THE_END_SECONDS = 5.0


def _lead(seconds: float) -> str:
    if abs(seconds) < AT_THE_END_SECONDS:
        return "at the end"
    return f"{duration(abs(seconds) / 3600)} {'after' if seconds < 0 else 'before'}"


def _range_of_leads(row: Row) -> str:
    ends = [_lead(row[f"lead_seconds_{end}"]) for end in ("p10", "p90") if row["lead_seconds"] is not None]
    return " to ".join(dict.fromkeys(ends)) if len(set(ends)) > 1 else ""


SCORES = (
    Col("Check", "check_name"),
    Col("Verdict", "verdict"),
    Col("#Alarms", "event_count", whole, detail=lambda row: f"{whole(row['judged_count'])} could be judged"),
    Col("#True ({level})", "true_share", share,
        detail=lambda row: "" if row["true_share"] is None else span(row["low"], row["high"], share)),
    Col("#False alarms per node-month", "false_per_node_month", lambda rate: short(round(rate, 3)),
        limits="false_per_node_month"),
    Col("#Alarm to end of job", "lead_seconds", _lead, detail=_range_of_leads),
    Col("#Drained, unproven, node-hours", "drained_node_hours", short),
    Col("#Failures it alone showed", "alone_count", short),
    Col("#Failures missed without it", "lost_count", short),
    Col("#A job went on", "survived_count", whole),
)  # fmt: skip


def check_scores(own: Own) -> Section:
    """Build the section on the worth of each health check."""
    rows = own.rows("check_scores")
    if not rows:
        if not own.cluster["has_health_checks"]:
            said = "Logs of health checks would tell which of them to trust (docs/logs.md)."
        elif own.cluster["study_days"] is None:
            said = "Accounting would tell which health checks to trust: they are judged inside the study period."
        else:
            said = "No health check failed in the study period."
        return section("checks", "Which checks to trust", note(said))
    by_verdict = grouped(rows, "verdict")
    parts = [
        f"{ADVICE[verdict]} {', '.join(printable(row['check_name']) for row in by_verdict[verdict])}."
        for verdict in ADVICE
        if verdict in by_verdict
    ]
    unsure = len(by_verdict.get(CANNOT_TELL, []))
    parts += [f"Of {plural(unsure, 'check')} the alarms were too few, or too few could be judged."] if unsure else []
    return section(
        "checks",
        "Which checks to trust",
        " ".join(parts),
        table(
            "What the alarms of each check turned out to be",
            rows,
            SCORES,
            "True: by the probability that a failure or a repair of the component within 7 days is more than chance. "
            "False: in use for 7 days, and nothing came. The rest is unknown and makes the {level} limits wider. "
            "Drop: surely fewer than a fifth are true, and at most one failure, or one in fifty, is seen by it alone "
            "or a minute early. Tune: surely fewer than half. Keep: surely more than half. Drained, unproven: time "
            "out of service after alarms that were true with less than 20%, or unknown though a job went on. "
            "Failures missed without it: those that would pass for users' errors. A job went on: for an hour, or it "
            "COMPLETED; that refutes nothing.",
        ),
    )
