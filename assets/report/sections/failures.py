"""Work pushed aside: how many attempts were preempted, and by whom. What it cost is among the losses."""

from __future__ import annotations

from assets.report.blocks import Section, section
from assets.report.numbers import gpus, printable, share, short, whole
from assets.report.queries import Own, Row
from assets.report.tables import Col, second, table
from assets.report.wording import job_name


def weighted(row: Row) -> Row:
    """Count a failed attempt, and what it lost, with the probability that infrastructure ended it."""
    probability, lost = row["posterior_probability"], row["lost_gpu_hours"]
    return row | {"count": probability, "lost_gpu_hours": None if lost is None else probability * lost}


INSTIGATORS = {
    "named_count": ("Named", "slurmctld.log names the job that took the nodes"),
    "inferred_count": ("Inferred", "the job that started on the freed nodes right after"),
    "unknown_count": ("Not known", "neither named nor to be inferred"),
}
PREEMPTED = (
    Col("Instigator", "name"),
    Col("How it is known", "how", str),
    Col("#Attempts", "count", whole),
    Col("#Share", "ratio", share),
)


def _how(row: Row) -> str:
    if row["instigator_attempt_id"] is None:
        return ""
    return "inferred" if row["is_inferred"] else "named in slurmctld.log"


LATEST = (
    Col("Preempted at (UTC)", "preempted_at", second),
    Col("Victim", lambda row: job_name(row, "victim_"),
        detail=lambda row: printable(row["victim_job_name"], 48) if row["victim_job_name"] else ""),
    Col("User", "victim_user_name"),
    Col("#Size", "victim_gpu_count", gpus, unknown=gpus(None)),
    Col("Instigator", lambda row: job_name(row, "instigator_") if row["instigator_attempt_id"] else "not known"),
    Col("How it is known", _how),
    Col("Order of the loss",
        lambda row: "second (after a failure)" if row["is_second_order"] else "none of the infrastructure's"),
    Col("#Lost GPU-hours", "lost_gpu_hours", short),
)  # fmt: skip


def preemptions(own: Own) -> Section:
    """Build the section on preemptions."""
    found, latest = own.row("preemptions"), own.rows("latest_preemptions")
    total = found.get("preemption_count", 0)
    kinds = [
        {"name": name, "how": how, "count": found[column], "ratio": found[column] / total}
        for column, (name, how) in INSTIGATORS.items()
        if found
    ]
    shown = f"the latest {len(latest)} of {whole(total)}" if total > len(latest) else f"all {whole(total)}"
    return section(
        "preemptions",
        "Preemptions",
        None if found else "No attempt was preempted.",
        table(f"Preempted attempts by what is known of the instigator ({whole(total)} in all)", kinds, PREEMPTED),
        table(f"Preempted attempts ({shown})", latest, LATEST),
    )
