"""What each month was expected to bring, from the months before it, and how well that did on the cluster's own data."""

from __future__ import annotations

from assets.report.blocks import Block, Cell, Section, Table, Text, columns, row
from assets.report.numbers import confidence, short, whole
from assets.report.queries import Frames, Row, of_cluster
from assets.report.wording import POPULATIONS, plural, span

TITLE = "Forecasts by month, and how they did"
OPEN_MONTHS = 12


def forecasts(frames: Frames, cluster: Row) -> Section:
    """Build the section on forecasts and their scores."""
    months = of_cluster(frames, "forecasts", cluster["cluster_id"])
    made = [month for month in months if month["rate_expected"] is not None]
    if not made:
        said = "No month could be forecast: that takes three weeks of failures and node-days before it."
        return Section("forecasts", TITLE, (Text(said, "note"),))
    blocks: list[Block] = [Text(_verdict(made)), _table(made)]
    return Section("forecasts", TITLE, tuple(blocks))


def _verdict(made: list[Row]) -> str:
    scored = [forecast for forecast in made if forecast["log_score"] is not None]
    if not scored:
        return "Forecasts were made, and none of their months is over yet: nothing can be scored."
    level = confidence(made[0]["confidence_level"])
    inside = sum(bool(forecast["has_rate_inside"]) for forecast in scored)
    said = (
        f"Of {plural(len(scored), 'month')} forecast and over, {whole(inside)} had their failure rate inside the "
        f"{level} limits that were made from the months before."
    )
    rivals = [forecast for forecast in scored if forecast["log_score_naive"] is not None]
    if not rivals:
        return said
    own, naive = (sum(forecast[name] for forecast in rivals) / len(rivals) for name in ("log_score", "log_score_naive"))
    better = "better than" if own > naive else "no better than"
    return (
        f"{said} Their mean log score is {own:.2f}, {better} the {naive:.2f} of expecting each month to be like the "
        "one before."
    )


def _table(made: list[Row]) -> Table:
    level = confidence(made[0]["confidence_level"])
    return Table(
        "Forecasts by month",
        columns(
            "Month", "#Failures expected", f"#{level} limits", "#Failures", "#Rate expected", f"#{level} limits",
            "#Rate", "Inside", "#Log score", "#Naive",
        ),
        tuple(
            row(
                f"{forecast['month_date']:%Y-%m}",
                short(forecast["failures_expected"]),
                span(forecast["failures_expected_low"], forecast["failures_expected_high"])
                if forecast["failures_expected"] is not None
                else "",
                short(forecast["failure_count"]) if forecast["is_over"] else "not over",
                short(forecast["rate_expected"]),
                Cell(
                    span(forecast["rate_expected_low"], forecast["rate_expected_high"]), detail=forecast["note"] or ""
                ),
                short(forecast["failures_per_1000_node_days"]) if forecast["is_over"] else "not over",
                {True: "yes", False: "no", None: ""}[forecast["has_rate_inside"]],
                _score(forecast["log_score"]),
                _score(forecast["log_score_naive"]),
            )
            for forecast in made
        ),
        note=f"Failures of {POPULATIONS.get(made[0]['population'], made[0]['population'])}; rates per {whole(1000)} "
        "node-days. Each row is made from the months before it alone; only the probabilities of attributions are those "
        "of today. The limits of the rate are for the node-days that the month had, those of the failures foresee the "
        "node-days too. Log score: the logarithm of the probability given to what happened, 0 at best. Naive: the rate "
        "of the month before.",
        is_collapsed=len(made) > OPEN_MONTHS,
    )  # fmt: skip


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
