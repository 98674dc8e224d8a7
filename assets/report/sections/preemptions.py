"""Work pushed aside: how many attempts were preempted, by whom, and what it cost beside the failures themselves."""

from __future__ import annotations

from assets.report.blocks import Block, Cell, Section, Table, Text, columns, row
from assets.report.numbers import gpus, moment, printable, share, short, whole
from assets.report.queries import Frames, Row, of_cluster, only_row
from assets.report.wording import loss_rule

TITLE = "Preemptions and lost GPU time"


def preemptions(frames: Frames, cluster: Row) -> Section:
    """Build the section on preemptions and on goodput lost in first and second order."""
    cluster_id = cluster["cluster_id"]
    found, losses = only_row(frames, "preemptions", cluster_id), only_row(frames, "losses", cluster_id)
    blocks: list[Block] = []
    if found:
        blocks.append(_counts(found))
    else:
        blocks.append(Text("No attempt was preempted."))
    if found or losses:
        blocks.append(_losses(found, losses, cluster["checkpoint_minutes"]))
    latest = of_cluster(frames, "latest_preemptions", cluster_id)
    if latest:
        blocks.append(_latest(latest, found["preemption_count"]))
    return Section("preemptions", TITLE, tuple(blocks))


def _counts(found: Row) -> Table:
    total = found["preemption_count"]
    kinds = (
        ("Named", "slurmctld.log names the job that took the nodes", "named_count"),
        ("Inferred", "the job that started on the freed nodes right after", "inferred_count"),
        ("Not known", "neither named nor to be inferred", "unknown_count"),
    )
    return Table(
        f"Preempted attempts by what is known of the instigator ({whole(total)} in all)",
        columns("Instigator", "How it is known", "#Attempts", "#Share"),
        tuple(row(name, how, whole(found[key]), share(found[key] / total)) for name, how, key in kinds),
    )


def _losses(found: Row, losses: Row, minutes: float) -> Table:
    second_count = found.get("second_order_count", 0)
    unknown = found.get("unknown_loss_count", 0) + losses.get("unknown_loss_count", 0)
    note = f"Lost by each attempt: {loss_rule(minutes)}"
    if unknown:
        note += f" {whole(unknown)} of these attempts have an unknown number of GPUs and are not in the sums."
    return Table(
        "GPU time lost to infrastructure failures",
        columns("Order", "What it is", "#Attempts (k)", "#Lost GPU-hours"),
        (
            row(
                "First",
                "work lost in the failed attempts",
                whole(losses.get("failure_count", 0)),
                short(losses["first_order_gpu_hours"]) if losses else "0",
            ),
            row(
                "Second",
                "work lost in attempts preempted because a failed job came back",
                whole(second_count),
                short(found["second_order_gpu_hours"]) if second_count else "0",
            ),
        ),
        note=note,
    )


def _latest(latest: list[Row], total: int) -> Table:
    shown = f"the latest {len(latest)} of {whole(total)}" if total > len(latest) else f"all {whole(total)}"
    return Table(
        f"Preempted attempts ({shown})",
        columns(
            "Preempted at (UTC)",
            "Victim",
            "User",
            "#Size",
            "Instigator",
            "How it is known",
            "Order of the loss",
            "#Lost GPU-hours",
        ),
        tuple(
            row(
                moment(preemption["preempted_at"], seconds=True),
                Cell(
                    printable(preemption["victim_job_id"]),
                    detail=printable(preemption["victim_job_name"], 48) if preemption["victim_job_name"] else "",
                ),
                printable(preemption["victim_user_name"], 32),
                gpus(preemption["victim_gpu_count"]),
                printable(preemption["instigator_job_id"]) if preemption["instigator_attempt_id"] else "not known",
                _describe_evidence(preemption),
                "second (after a failure)" if preemption["is_second_order"] else "none of the infrastructure's",
                short(preemption["lost_gpu_hours"]),
            )
            for preemption in latest
        ),
    )


def _describe_evidence(preemption: Row) -> str:
    if preemption["instigator_attempt_id"] is None:
        return ""
    return "inferred" if preemption["is_inferred"] else "named in slurmctld.log"
