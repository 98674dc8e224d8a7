"""What each month was expected to bring, from the months before it, and how well that did on the cluster's own data."""

from __future__ import annotations

from assets.report.blocks import Section, note, section
from assets.report.numbers import short, whole
from assets.report.queries import Own, Row
from assets.report.tables import Col, ends, interval, level_of, table
from assets.report.wording import POPULATIONS, plural

OPEN_MONTHS = 12


def _seen(name: str) -> Col:
    heading = {"failure_count": "#Failures", "failures_per_1000_node_days": "#Rate"}[name]
    return Col(heading, lambda row: short(row[name]) if row["is_over"] else "not over")


def _score(heading: str, name: str) -> Col:
    return Col(heading, lambda row: "" if row[name] is None else f"{row[name]:.2f}")


COLUMNS = (
    Col("Month", lambda row: f"{row['month_date']:%Y-%m}"),
    Col("#Failures expected", "failures_expected", short),
    interval("failures_expected", heading="#{level} limits", unless="failures_expected"),
    _seen("failure_count"),
    Col("#Rate expected", "rate_expected", short),
    Col("#{level} limits", lambda row: ends(row, "rate_expected"), detail=lambda row: row["note"] or ""),
    _seen("failures_per_1000_node_days"),
    Col("Inside", lambda row: {True: "yes", False: "no", None: ""}[row["has_rate_inside"]]),
    _score("#Log score", "log_score"),
    _score("#Naive", "log_score_naive"),
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
        _verdict(made),
        table(
            "Forecasts by month",
            made,
            COLUMNS,
            f"Failures of {population}; rates per {whole(1000)} node-days. Each row is made from the months before it "
            "alone; only the probabilities of attributions are those of today. The limits of the rate are for the "
            "node-days that the month had, those of the failures foresee the node-days too. Log score: the logarithm "
            "of the probability given to what happened, 0 at best. Naive: the rate of the month before.",
            is_collapsed=len(made) > OPEN_MONTHS,
        ),
    )


def _verdict(made: list[Row]) -> str:
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
