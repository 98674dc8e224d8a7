"""LANL's failures from 1996 to 2005 (LA-UR-05-7318): times of repair by cause, and times between failures."""

from __future__ import annotations

from datetime import datetime

import duckdb
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from assets.model.survival import fit_weibull
from assets.warehouse import one_value
from tests.proof.published import Figure
from tests.studies import Study
from tests.studies.records import LANL_CAUSES, lanl_release, refreshed

SOURCE = "worked out: LA-UR-05-7318"
REPAIRS = {
    "Human Error": ("163.1", "44", "421"),
    "Network": ("250.0", "70", "723"),
    "Facilities": ("572.3", "276", "811"),
    "Hardware": ("343.8", "68", "4134"),
    "Software": ("348.2", "43", "5462"),
    "Undetermined": ("441.2", "30", "6589"),
    "all": ("352.4", "59", "4683"),
}
"""Minutes of repair: mean, median, standard deviation (n - 1)."""
ABSTRACT = "Schroeder and Gibson, DSN 2006, abstract"
ONE_DIGIT = "the same to one digit, as printed"
SYSTEMS = """
    select count(*), count(*) / (epoch(max(started_at) - min(started_at)) / 86400 / 365.25), avg(down_minutes)
    from marts.fct_unit_failures
    where cluster_id like 'lanl%'
    group by cluster_id
"""
SYSTEM, NODE = "lanl-system-02", "22"
EARLY, LATE, END = datetime(1996, 1, 1), datetime(2000, 1, 1), datetime(2006, 1, 1)
"""The spans of the study: 1996 to 1999, and 2000 to 2005."""


def study() -> Study:
    """Count from `marts.fct_unit_failures`."""
    lanl_release()
    with duckdb.connect(refreshed(), read_only=True) as con:
        minutes = {
            cause: one_value(
                con,
                "select list(down_minutes) from marts.fct_unit_failures "
                "where cluster_id like 'lanl%' and (cause = $cause or $cause = 'all')",
                {"cause": cause},
            )
            for cause in (*LANL_CAUSES, "all")
        }
        of_node, late, early = (
            _gaps(con, *span) for span in ((LATE, END, NODE), (LATE, END, None), (EARLY, LATE, None))
        )
        systems = np.array(con.execute(SYSTEMS).fetchall(), dtype=float)
    count = {"records": "23,739", "Undetermined": "2,652"}
    repairs = np.log([minute for minute in minutes["all"] if minute > 0])
    return Study(
        "LANL: 23,739 failures of 23 systems",
        "Los Alamos National Laboratory's record of failures from 1996 to 2005, release LA-UR-05-7318; Los Alamos "
        "asks to be recognised by those who use it. Schroeder and Gibson studied the record in *A large-scale study "
        "of failures in high-performance computing systems*, DSN 2006. Only the abstract of their paper was "
        "available: its table of times of repair and its fits are not compared here. Times of repair are those of the "
        "column `Down Time`; start and end differ from it in 423 rows. Worked out are times of repair by cause, and "
        "Weibull's shape (`fit_weibull`) of the gaps between failures.",
        [
            *_abstract(systems),
            Figure(SOURCE, "records", count["records"], len(minutes["all"]), "count"),
            Figure(SOURCE, "cause unknown", count["Undetermined"], len(minutes["Undetermined"]), "count"),
            *(figure for cause, printed in REPAIRS.items() for figure in _repairs(cause, printed, minutes[cause])),
            *_between(of_node, late, early),
        ],
        [
            (
                "Times of repair above 0 by maximum likelihood; the smaller criterion of Akaike fits better:",
                ("distribution", "Akaike's criterion, less lognormal's"),
                _distributions(np.exp(repairs)),
            )
        ],
    )


def _abstract(systems: NDArray[np.float64]) -> list[Figure]:
    """Compare what the abstract says of failures, failures per year and minutes of repair of the systems."""
    failures, yearly, minutes = systems.T
    return [
        Figure(
            ABSTRACT, "records", "23,000", failures.sum(), "count", False,
            "a round number; which records it leaves out is not said",
        ),
        Figure(ABSTRACT, "systems", ">20", len(systems), "count"),
        Figure(ABSTRACT, "failures per year of a system, fewest", "20", yearly.min(), "-", False, ONE_DIGIT),
        Figure(ABSTRACT, "failures per year of a system, most", "1,000", yearly.max(), "-", False, ONE_DIGIT),
        Figure(
            ABSTRACT, "mean of repair of a system, shortest, minutes", "<60", minutes.min(), "-", False,
            "no system of the release has so short a mean",
        ),
        Figure(ABSTRACT, "mean of repair of a system, longest, minutes", ">1,440", minutes.max(), "-"),
    ]  # fmt: skip


def _gaps(con: duckdb.DuckDBPyConnection, start: datetime, end: datetime, node: str | None) -> NDArray[np.float64]:
    """Give the seconds between failures of the system, or of a node."""
    times = con.execute(
        "select epoch(started_at) from marts.fct_unit_failures where cluster_id = $system "
        "and started_at >= $start and started_at < $end and ($node is null or node_id = $node) order by 1",
        {"system": SYSTEM, "start": start, "end": end, "node": node},
    ).fetchall()
    return np.diff([seconds for (seconds,) in times])


def _repairs(cause: str, printed: tuple[str, ...], minutes: list[float]) -> list[Figure]:
    found = (np.mean(minutes), np.median(minutes), np.std(minutes, ddof=1))
    names = ("mean", "median", "standard deviation")
    return [
        Figure(SOURCE, f"{cause}: {name} of repair, minutes", text, float(value), "-")
        for name, text, value in zip(names, printed, found, strict=True)
    ]


def _between(of_node: NDArray[np.float64], late: NDArray[np.float64], early: NDArray[np.float64]) -> list[Figure]:
    node, system = f"node {NODE} of system 2, 2000 to 2005", "system 2, 2000 to 2005"

    def shape(gaps: NDArray[np.float64]) -> float:
        return fit_weibull(gaps, np.ones(gaps.size)).shape

    scatter = of_node.var(ddof=1) / of_node.mean() ** 2
    found = [
        (f"{node}: Weibull shape without the gap of 0", "0.735", shape(of_node[of_node > 0]), "fit_weibull"),
        (f"{node}: ... with it as 1 s", "0.713", shape(np.maximum(of_node, 1)), "fit_weibull"),
        (f"{node}: squared coefficient of variation (n - 1)", "1.87", scatter, "-"),
        (f"{system}: Weibull shape with gaps of 0 as 1 s", "0.787", shape(np.maximum(late, 1)), "fit_weibull"),
        (f"{system}: ... without them", "0.823", shape(late[late > 0]), "fit_weibull"),
        ("system 2, 1996 to 1999: gaps of 0, %", "42", 100 * np.mean(early == 0), "-"),
    ]
    return [Figure(SOURCE, quantity, printed, float(ours), function) for quantity, printed, ours, function in found]


def _distributions(minutes: NDArray[np.float64]) -> list[tuple[str, ...]]:
    """Compare fits of the times of repair."""
    families = {
        "lognormal": stats.lognorm,
        "Weibull": stats.weibull_min,
        "gamma": stats.gamma,
        "exponential": stats.expon,
    }
    criterion = {}
    for name, family in families.items():
        fitted = family.fit(minutes, floc=0)
        criterion[name] = 2 * (len(fitted) - 1) - 2 * float(np.sum(family.logpdf(minutes, *fitted)))
    return [(name, f"{value - criterion['lognormal']:+,.0f}") for name, value in criterion.items()]
