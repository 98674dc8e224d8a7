"""Forecasts by month, and how well they did: a rate that holds foretells the next month."""

from __future__ import annotations

from assets.report.blocks import Section, note, section
from assets.report.numbers import short, whole
from assets.report.queries import Own, Row
from assets.report.tables import Col, Write, ends, flag, interval, level_of, table
from assets.report.wording import POPULATIONS, number, plural

OPEN_MONTHS = 12


def _seen(heading: str, name: str, write: Write) -> Col:
    return Col(heading, lambda row: write(row[name]) if row["is_over"] else "not over")


FORECASTS = (
    Col("Month", lambda row: f"{row['month_date']:%Y-%m}"),
    Col("#Failures expected", "failures_expected", short),
    interval("failures_expected", heading="#{level} limits", unless="failures_expected"),
    _seen("#Failures", "failure_count", number),
    Col("#Rate expected", "rate_expected", short),
    Col("#{level} limits", lambda row: ends(row, "rate_expected"), detail=lambda row: row["note"] or ""),
    _seen("#Rate", "failures_per_1000_node_days", short),
    flag("Inside", "has_rate_inside"),
    Col("#Log score", "log_score", "{:.2f}".format, unknown=""),
    Col("#Naive", "log_score_naive", "{:.2f}".format, unknown=""),
)


def forecasts(own: Own) -> Section:
    """Build the section on forecasts and their scores."""
    made = [row for row in own.rows("forecasts") if row["rate_expected"] is not None]
    title = "Forecasts by month, and how they did"
    if not made:
        said = "No month could be forecast: that takes three weeks of failures and node-days before it."
        return section("forecasts", title, note(said))
    population = POPULATIONS.get(made[0]["population"], made[0]["population"])
    return section(
        "forecasts",
        title,
        _score(made),
        table(
            "Forecasts by month",
            made,
            FORECASTS,
            f"Failures of {population}; rates per {whole(1000)} node-days. Each row is made from the months before it "
            "alone; only the probabilities of attributions are those of today. The limits of the rate are for the "
            "node-days that the month had, those of the failures foresee the node-days too. Log score: the logarithm "
            "of the probability given to what happened, 0 at best. Naive: the rate of the month before.",
            is_collapsed=len(made) > OPEN_MONTHS,
        ),
    )


def _score(made: list[Row]) -> str:
    scored = [row for row in made if row["log_score"] is not None]
    if not scored:
        return "Forecasts were made, and none of their months is over yet: nothing can be scored."
    inside = sum(bool(row["has_rate_inside"]) for row in scored)
    said = (
        f"Of {plural(len(scored), 'month')} forecast and over, {whole(inside)} had their failure rate inside the "
        f"{level_of(made)} limits that were made from the months before."
    )
    rivals = [row for row in scored if row["log_score_naive"] is not None]
    if not rivals:
        return said
    mine, naive = (sum(row[name] for row in rivals) / len(rivals) for name in ("log_score", "log_score_naive"))
    better = "better than" if mine > naive else "no better than"
    return (
        f"{said} Their mean log score is {mine:.2f}, {better} the {naive:.2f} of expecting each month to be like the "
        "one before."
    )
