"""Work pushed aside: how many attempts were preempted, by whom, and what it cost beside the failures themselves."""

from __future__ import annotations

from assets.report.blocks import Section, section
from assets.report.numbers import gpus, printable, share, short, whole
from assets.report.queries import Own, Row
from assets.report.sections.failures import job_name
from assets.report.tables import Col, second, table
from assets.report.wording import loss_rule

KINDS = {
    "named_count": ("Named", "slurmctld.log names the job that took the nodes"),
    "inferred_count": ("Inferred", "the job that started on the freed nodes right after"),
    "unknown_count": ("Not known", "neither named nor to be inferred"),
}
COUNTS = (
    Col("Instigator", "name"),
    Col("How it is known", "how", str),
    Col("#Attempts", "count", whole),
    Col("#Share", "ratio", share),
)
ORDERS = (
    Col("Order", "order"),
    Col("What it is", "what", str),
    Col("#Attempts (k)", "count", whole),
    Col("#Lost GPU-hours", "hours", short),
)


def _how(row: Row) -> str:
    if row["instigator_attempt_id"] is None:
        return ""
    return "inferred" if row["is_inferred"] else "named in slurmctld.log"


def _order(row: Row) -> str:
    return "second (after a failure)" if row["is_second_order"] else "none of the infrastructure's"


LATEST = (
    Col("Preempted at (UTC)", "preempted_at", second),
    Col("Victim", lambda row: job_name(row, "victim_"),
        detail=lambda row: printable(row["victim_job_name"], 48) if row["victim_job_name"] else ""),
    Col("User", "victim_user_name"),
    Col("#Size", "victim_gpu_count", gpus, unknown=gpus(None)),
    Col("Instigator", lambda row: job_name(row, "instigator_") if row["instigator_attempt_id"] else "not known"),
    Col("How it is known", _how),
    Col("Order of the loss", _order),
    Col("#Lost GPU-hours", "lost_gpu_hours", short),
)  # fmt: skip


def preemptions(own: Own) -> Section:
    """Build the section on preemptions and on goodput lost in first and second order."""
    found, failed, latest = own.row("preemptions"), own.rows("failures"), own.rows("latest_preemptions")
    total = found.get("preemption_count", 0)
    kinds = [
        {"name": name, "how": how, "count": found[column], "ratio": found[column] / total}
        for column, (name, how) in KINDS.items()
        if found
    ]
    shown = f"the latest {len(latest)} of {whole(total)}" if total > len(latest) else f"all {whole(total)}"
    return section(
        "preemptions",
        "Preemptions and lost GPU time",
        None if found else "No attempt was preempted.",
        table(f"Preempted attempts by what is known of the instigator ({whole(total)} in all)", kinds, COUNTS),
        table(
            "GPU time lost to infrastructure failures",
            _orders(found, failed) if found or failed else [],
            ORDERS,
            _note(found, failed, own.cluster["checkpoint_minutes"]),
        ),
        table(f"Preempted attempts ({shown})", latest, LATEST),
    )


def _orders(found: Row, failed: list[Row]) -> list[Row]:
    lost = [row["lost_gpu_hours"] for row in failed if row["lost_gpu_hours"] is not None]
    second_count = found.get("second_order_count", 0)
    return [
        {
            "order": "First",
            "what": "work lost in the failed attempts",
            "count": len(failed),
            "hours": None if failed and not lost else sum(lost),
        },
        {
            "order": "Second",
            "what": "work lost in attempts preempted because a failed job came back",
            "count": second_count,
            "hours": found["second_order_gpu_hours"] if second_count else 0,
        },
    ]


def _note(found: Row, failed: list[Row], minutes: float) -> str:
    unknown = found.get("unknown_loss_count", 0) + sum(row["lost_gpu_hours"] is None for row in failed)
    said = f"Lost by each attempt: {loss_rule(minutes)}"
    if unknown:
        said += f" {whole(unknown)} of these attempts have an unknown number of GPUs and are not in the sums."
    return said
