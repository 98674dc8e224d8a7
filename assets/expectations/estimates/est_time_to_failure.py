"""What must hold for estimates.est_time_to_failure: positive shapes and scales, and verdicts that follow the limits."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE, evidenced, fitted
from assets.expectations.rules import columns, no_finding, no_row, not_negative, one_of, ratio

ROW = ("cluster_id", "gpu_size_bin")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(
            *(*ROW, "weibull_shape", "weibull_shape_low", "weibull_shape_high", "scale_hours", "p_value", "verdict"),
            *("kolmogorov_distance", "goodness_of_fit_p_value", *EVIDENCE),
        ),
        *fitted("weibull_shape", *ROW),
        *fitted("scale_hours", *ROW),
        ratio("p_value", *ROW),
        ratio("kolmogorov_distance", *ROW),
        ratio("goodness_of_fit_p_value", *ROW),
        not_negative("attempt_count", *ROW),
        one_of("verdict", ("constant", "rises", "falls", "cannot tell"), "the verdict is one of four"),
        no_row(
            "verdict_follows_limits",
            "(verdict = 'rises' and not coalesce(weibull_shape_low > 1, false)) "
            "or (verdict = 'falls' and not coalesce(weibull_shape_high < 1, false)) "
            "or (verdict = 'constant' and not coalesce(weibull_shape_low > 0.9 and weibull_shape_high < 1.11, false))",
            (*ROW, "verdict", "weibull_shape_low", "weibull_shape_high"),
            "rises lies above 1, falls below, constant close to it",
        ),
        no_finding("failures_among_those_of_the_size", FAILURES_AMONG, "the failures are among those of the size"),
        *evidenced(*ROW),
    ]


# Not always all of them: one that failed as the records began was not watched before.
FAILURES_AMONG = """
    select
        cluster_id,
        concat(cluster_id, ' ', fits.gpu_size_bin, ': ', fits.event_count, ' of ', sizes.failure_count, ' failures')
            as finding
    from {batch} as fits
    inner join (
        select cluster_id, gpu_size_bin, count(*) filter (where is_infrastructure_failure) as failure_count
        from marts.fct_attempts
        group by all
    ) as sizes using (cluster_id)
    where fits.gpu_size_bin is not distinct from sizes.gpu_size_bin and fits.event_count > sizes.failure_count
    order by finding
"""
