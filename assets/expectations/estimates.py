"""What must hold for the tables of `estimates`. Each function gives the suite of the table with its name."""

from __future__ import annotations

from assets.expectations.fitted import between_bounds, corrected_for_chance, evidenced, fitted
from assets.expectations.rules import (
    Rule,
    finite,
    in_order,
    interval,
    no_finding,
    no_row,
    not_negative,
    one_of,
    ratio,
    without_cluster,
)


def est_attribution_chance() -> list[Rule]:
    """Demand shares inside their intervals, and corrections that only lower them."""
    row = ("cluster_id", "failure_category")
    return corrected_for_chance(*row)


def est_cause_rates() -> list[Rule]:
    """Demand possible rates inside their limits, and a bound for each cause."""
    row = ("cluster_id", "failure_category", "counted_as")
    rate = "failures_per_gpu_hour"
    return [
        *fitted(rate, *row),
        not_negative("failure_count", *row),
        not_negative("gpu_hours", *row),
        *evidenced(*row),
        no_row(
            "every_cause_is_bounded",
            f"(gpu_hours > 0 and failure_count is not null) <> ({rate}_high is not null)",
            (*row, "failure_count", "gpu_hours", f"{rate}_high"),
            "a cause that could be seen has an upper limit, and no other",
        ),
        no_row(
            "dispersion_at_least_1",
            "dispersion < 1",
            (*row, "dispersion"),
            "failures never scatter less than Poisson counts",
        ),
        no_row(
            "incidents_bounded",
            "incident_count > failure_count + 1e-9",
            (*row, "incident_count", "failure_count"),
            "there are no more incidents than failed attempts",
        ),
    ]


CHECKPOINT_VALUES = (
    "failures_per_1000_node_days",
    "mttf_hours",
    "expected_interruptions",
    "checkpoint_minutes_optimal",
    "ettr_optimal",
)


def est_checkpoint_plans() -> list[Rule]:
    """Demand plans inside their intervals, and harder ones for larger runs."""
    row = ("cluster_id", "gpu_count")
    intervals = ("checkpoint_minutes_young", "checkpoint_minutes_daly", "checkpoint_minutes_optimal")
    ratios = ("ettr_optimal", "ettr_run_low", "ettr_run_high", "probability_ettr_ge_target")
    return [
        *(rule for value in CHECKPOINT_VALUES for rule in fitted(value, *row)),
        *(not_negative(name, *row) for name in intervals[:2]),
        *(ratio(name, *row) for name in ratios),
        no_row(
            "run_limits_in_order",
            "ettr_run_low > ettr_run_high",
            (*row, "ettr_run_low", "ettr_run_high"),
            "ettr_run_low <= ettr_run_high",
        ),
        no_row(
            "no_failure_no_plan",
            "event_count = 0 and (checkpoint_minutes_optimal is not null or probability_ettr_ge_target is not null)",
            (*row, "event_count", "checkpoint_minutes_optimal", "probability_ettr_ge_target"),
            "without a failure there are bounds, no plan",
        ),
        no_finding("harder_when_larger", HARDER_WHEN_LARGER, "a larger run does not reach a higher ETTR"),
        *evidenced(*row),
    ]


HARDER_WHEN_LARGER = """
    select
        cluster_id,
        concat(cluster_id, ': ', ettr_optimal, ' with ', gpu_count, ' GPUs, ', smaller, ' with fewer') as finding
    from (
        select
            cluster_id,
            gpu_count,
            ettr_optimal,
            lag(ettr_optimal) over (partition by cluster_id order by gpu_count) as smaller
        from {batch}
    )
    where ettr_optimal > smaller + 1e-9
    order by finding
"""


MEASURED_BOUNDS = {"ettr_measured": "ettr_bound", "progress_ratio": "progress_ratio_bound"}
EXPECTED_ETTR = ("ettr_expected", "ettr_expected_exact", "ettr_expected_v2")
HOURS = ("queue_hours", "restart_hours", "lost_work_hours", "write_hours", "productive_hours")


def est_ettr_by_qos() -> list[Rule]:
    """Demand every ratio between 0 and 1 and between its bounds, and parts that sum to the whole."""
    return _measured_ratios("cluster_id", "qos", "gpu_size_bin")


def est_ettr_by_size() -> list[Rule]:
    """Demand the same, and as much of what is expected."""
    return _measured_ratios("cluster_id", "gpu_size_bin", expected=EXPECTED_ETTR)


def _measured_ratios(*row: str, expected: tuple[str, ...] = ()) -> list[Rule]:
    values = (*MEASURED_BOUNDS, *expected)
    ratios = tuple(f"{value}{limit}" for value in values for limit in ("", "_low", "_high"))
    return [
        not_negative("run_count", *row),
        *(ratio(name, *row) for name in ratios),
        *(interval(value, *row) for value in values),
        finite(ratios, *row),
        *(between_bounds(value, bound, *row) for value, bound in MEASURED_BOUNDS.items()),
        no_row(
            "parts_sum_to_the_whole",
            f"abs({' + '.join(HOURS)} - wallclock_hours) > 1e-6 * wallclock_hours",
            (*row, *HOURS, "wallclock_hours"),
            "the hours of the parts sum to the hours of the runs",
        ),
        *evidenced(*row),
    ]


def est_ettr_grid() -> list[Rule]:
    """Demand every ETTR between 0 and 1, and less of it where more fails."""
    row = ("scenario", "gpu_count", "failures_per_1000_node_days", "checkpoint_minutes")
    values = ("ettr_expected", "ettr_expected_exact")
    rules = [
        *(ratio(value, *row) for value in values),
        finite((*values, "checkpoint_minutes_longest"), *row),
        no_row(
            "values_there",
            "ettr_expected is null or ettr_expected_exact is null",
            row,
            "nothing is unknown where everything is assumed",
        ),
        no_row(
            "line_parts_the_grid",
            "checkpoint_minutes > checkpoint_minutes_longest * (1 + 1e-6) and ettr_expected_exact > ettr_target",
            (*row, "checkpoint_minutes_longest", "ettr_expected_exact"),
            "an interval beyond the line misses the target",
        ),
        no_finding("less_where_more_fails", LESS_WHERE_MORE_FAILS, "a higher failure rate never raises the ETTR"),
    ]
    return without_cluster(rules)


LESS_WHERE_MORE_FAILS = """
    select cluster_id, concat(
        scenario, ', ', gpu_count, ' GPUs, ', checkpoint_minutes, ' min: ', ettr_expected_exact, ' at ',
        failures_per_1000_node_days, ', ', at_lower_rate, ' at a lower rate'
    ) as finding
    from (
        select
            *,
            lag(ettr_expected_exact) over (
                partition by scenario, gpu_count, checkpoint_minutes order by failures_per_1000_node_days
            ) as at_lower_rate
        from {batch}
    )
    where ettr_expected_exact > at_lower_rate + 1e-9
    order by finding
"""


def est_evidence_reach() -> list[Rule]:
    """Demand shares inside their limits, and no more compared or found late than there was."""
    row = ("cluster_id", "month_date")
    return [
        *(ratio(name, *row) for name in ("reach", "low", "high")),
        *fitted("late_count", *row),
        *fitted("unseen_count", *row),
        no_row(
            "reach_inside_limits",
            "reach < low - 1e-9 or reach > high + 1e-9",
            (*row, "reach", "low", "high"),
            "low <= reach <= high",
        ),
        no_row(
            "unknown_reach_has_a_reason",
            "reach is null and note is null",
            (*row, "reach", "note"),
            "where the reach cannot be told, the note says why",
        ),
        no_row(
            "compared_of_counted",
            "compared_count > counted_count + 1e-6",
            (*row, "compared_count", "counted_count"),
            "no more failures are compared than were counted",
        ),
        *evidenced(*row),
    ]


def est_failure_rates() -> list[Rule]:
    """Demand possible rates, inside their intervals, of counts that agree."""
    return _failure_rates("cluster_id", "population", "counted_as")


def est_failure_rates_monthly() -> list[Rule]:
    """Demand of each month what is demanded of the study period."""
    row = ("cluster_id", "month_date", "population", "counted_as")
    return [*_failure_rates(*row), not_negative("seen_days", *row)]


def _failure_rates(*row: str) -> list[Rule]:
    rate = "failures_per_1000_node_days"
    incidents_bounded = INCIDENTS_BOUNDED.replace("{of}", ", ".join(row[:-1]))
    return [
        *fitted(rate, *row),
        not_negative("failure_count", *row),
        not_negative("node_days", *row),
        no_row(
            "variance_at_least_poisson",
            "failure_variance < failure_count * (1 - 1e-6)",
            (*row, "failure_count", "failure_variance"),
            "no count scatters less than failures that come one by one",
        ),
        no_row(
            "reference_never_paper",
            "is_reference and counted_as like '%_paper'",
            (*row, "is_reference"),
            "the rate to build on is not one by the paper's rule",
        ),
        *evidenced(*row),
        no_row(
            "rate_is_count_over_exposure",
            f"node_days > 0 and abs({rate} - 1000 * failure_count / node_days) > 1e-6 * (1 + {rate})",
            (*row, "failure_count", "node_days", rate),
            "the rate is 1,000 x failures / node-days",
        ),
        no_finding("incidents_bounded", incidents_bounded, "there are no more incidents than failed attempts"),
    ]


INCIDENTS_BOUNDED = """
    select
        cluster_id,
        concat(concat_ws(' ', {of}), ': ', incidents, ' incidents, ', attempts, ' attempts') as finding
    from (
        select
            {of},
            counted_as like '%_paper' as is_paper,
            max(failure_count) filter (counted_as like 'incidents%') as incidents,
            max(failure_count) filter (counted_as like 'attempts%') as attempts
        from {batch}
        group by all
    )
    where incidents > attempts * (1 + 1e-9)
    order by finding
"""


def est_forecast_scores() -> list[Rule]:
    """Demand possible forecasts, and scores only of months that are over."""
    row = ("cluster_id", "month_date")
    return [
        *fitted("failures_expected", *row),
        *fitted("rate_expected", *row),
        *(not_negative(name, *row) for name in ("failure_count", "node_days", "node_days_expected")),
        finite(("log_score", "log_score_naive"), *row, check="scores_finite"),
        no_row("scores_of_probabilities", "log_score > 1e-9", (*row, "log_score"), "no probability is above 1"),
        no_row(
            "only_what_is_over_is_scored",
            "not is_over and (log_score is not null or has_rate_inside is not null or failure_count is not null)",
            (*row, "log_score", "failure_count"),
            "a month is scored once it is over",
        ),
        *evidenced(*row),
        no_finding(
            "history_is_what_came_before", FORECAST_HISTORY, "a forecast rests on the months before it and on no other"
        ),
    ]


FORECAST_HISTORY = """
    select
        cluster_id,
        concat(cluster_id, ' ', month_date, ': ', exposure, ' node-days, ', before, ' before it') as finding
    from (
        select
            cluster_id,
            month_date,
            exposure,
            coalesce(sum(month_node_days) over (
                partition by cluster_id order by month_date rows between unbounded preceding and 1 preceding
            ), 0) as before
        from {batch}
    )
    where abs(exposure - before) > 1e-6 * (1 + before)
    order by finding
"""


def est_lemon_effects() -> list[Rule]:
    """Demand shares inside their limits, and parts that make the whole."""
    row = ("cluster_id", "population")
    populations = ("all", "all_without_lemon_failures", "with_lemon_node", "without_lemon_node")
    return [
        one_of("population", populations, "the population is one of four"),
        ratio("failure_ratio", *row),
        interval("failure_ratio", *row),
        not_negative("attempt_count", *row),
        no_row(
            "failures_are_attempts",
            "failure_count not between 0 and attempt_count",
            (*row, "failure_count", "attempt_count"),
            "no more attempts failed than there were",
        ),
        no_finding("parts_make_the_whole", PARTS_MAKE_THE_WHOLE, "with and without a lemon are all attempts"),
        *evidenced(*row),
    ]


PARTS_MAKE_THE_WHOLE = """
    select cluster_id, concat(cluster_id, ': ', parts, ' with or without, ', whole, ' all') as finding
    from (
        select
            cluster_id,
            sum(attempt_count) filter (population in ('with_lemon_node', 'without_lemon_node')) as parts,
            sum(attempt_count) filter (population = 'all') as whole
        from {batch}
        group by cluster_id
    )
    where parts is distinct from whole
    order by finding
"""


def est_lemon_evaluations() -> list[Rule]:
    """Demand shares inside their limits, of counts that agree."""
    row = ("cluster_id", "window_end_date")
    counts = ("listed_count", "named_count", "bad_count", "judged_count", "large_job_count")
    ratios = ("precision", "recall", "large_job_failure_ratio", "large_job_failure_ratio_without_lemons")
    return [
        *(not_negative(name, *row) for name in counts),
        *(ratio(name, *row) for name in ratios),
        *(interval(name, *row) for name in ratios),
        *fitted("lift", *row),
        *fitted("lost_gpu_hours_avoidable", *row),
        in_order("window_end_date", "judged_end_date", "cluster_id"),
        no_row(
            "named_are_judged",
            "named_count > least(listed_count, judged_count) or bad_count > judged_count",
            (*row, *counts),
            "who is named was listed, and only nodes in use are judged",
        ),
        no_row(
            "fewer_failures_without_lemons",
            "large_job_failure_ratio_without_lemons > large_job_failure_ratio",
            (*row, "large_job_failure_ratio", "large_job_failure_ratio_without_lemons"),
            "without some of its causes a failure is not more frequent",
        ),
        *evidenced(*row),
    ]


def est_lemon_nodes() -> list[Rule]:
    """Demand probabilities, ranks without gaps, and verdicts they support."""
    row = ("cluster_id", "node_id")
    probabilities = ("posterior_probability", "local_fdr", "false_discovery_ratio", "p_value")
    return [
        one_of("verdict", ("lemon", "watch", "ok", "not enough data"), "the verdict is one of four"),
        *(ratio(name, *row) for name in probabilities),
        *fitted("rate", *row),
        not_negative("inferred_failure_count", *row),
        not_negative("days_since_last_failure", *row),
        *fitted("saved_gpu_hours_per_month", *row),
        not_negative("given_up_gpu_hours_per_month", *row),
        no_row(
            "nobody_saves_more_than_ran",
            "saved_gpu_hours_per_month_high > attempts_gpu_hours_per_month * (1 + 1e-9)",
            (*row, "saved_gpu_hours_per_month_high", "attempts_gpu_hours_per_month"),
            "a node saves at most what its jobs used",
        ),
        no_row(
            "unknown_savings_say_why",
            "(saved_gpu_hours_per_month is null) = (saving_note is null)",
            (*row, "saved_gpu_hours_per_month"),
            "where the saving is unknown, saving_note says why",
        ),
        no_row(
            "probabilities_complete",
            "abs(posterior_probability + local_fdr - 1) > 1e-9",
            (*row, "posterior_probability", "local_fdr"),
            "a node is a lemon or it is none",
        ),
        no_row(
            "lemons_are_supported",
            "verdict = 'lemon' and not coalesce(posterior_probability >= 0.7 and false_discovery_ratio <= 0.1 "
            "and event_count + inferred_failure_count >= 2, false)",
            (*row, "posterior_probability", "false_discovery_ratio", "event_count"),
            "a lemon has a probability of 0.7 or more, is on a list with at most 10% wrong names, and failed twice",
        ),
        no_row(
            "unranked_says_why",
            "rank is null and note is null",
            row,
            "where nodes are not ranked, the note says why",
        ),
        no_finding("ranks_complete", RANKS_COMPLETE, "ranks run from 1 to the number of nodes"),
        *evidenced(*row),
    ]


RANKS_COMPLETE = """
    select
        cluster_id,
        concat(cluster_id, ': ', count(distinct rank), ' ranks up to ', max(rank), ', ', count(*), ' nodes') as finding
    from {batch}
    group by cluster_id
    having count(rank) > 0 and (count(distinct rank) <> count(*) or max(rank) <> count(*) or min(rank) <> 1)
    order by finding
"""


def est_lost_gpu_hours() -> list[Rule]:
    """Demand losses inside their limits, and no more of them than the paper's rule counts."""
    row = ("cluster_id", "period", "loss")
    hours = "expected_lost_gpu_hours"
    return [
        one_of("period", ("study", "last_30_days", "30_days_before"), "losses are of a period"),
        *fitted(hours, *row),
        *fitted("expected_lost_cost", *row),
        no_row(
            "expected_is_at_most_certain",
            f"{hours} > lost_gpu_hours * (1 + 1e-6) + 1e-6",
            (*row, hours, "lost_gpu_hours"),
            "losses weighted by probability are at most what they are in full",
        ),
    ]


def est_mttf_by_size() -> list[Rule]:
    """Demand positive times, inside their intervals."""
    row = ("cluster_id", "gpu_size_bin")
    return [
        *fitted("mttf_hours", *row),
        *fitted("mttf_theory_hours", *row),
        no_row(
            "mttf_positive",
            "mttf_hours <= 0 or mttf_theory_hours <= 0",
            (*row, "mttf_hours", "mttf_theory_hours"),
            "a mean time to failure is longer than nothing",
        ),
        no_row(
            "no_failure_no_mean",
            "failure_count = 0 and mttf_hours is not null",
            (*row, "failure_count", "mttf_hours"),
            "without a failure there is a lower bound, no mean",
        ),
        not_negative("failure_count", *row),
        not_negative("runtime_hours", *row),
        *evidenced(*row),
    ]


def est_mttf_projections() -> list[Rule]:
    """Demand positive times inside their intervals, shorter for larger jobs."""
    row = ("cluster_id", "gpu_count")
    return [
        *fitted("mttf_hours", *row),
        *fitted("failures_30d", *row),
        no_row("mttf_positive", "mttf_hours <= 0", (*row, "mttf_hours"), "a mean time to failure is positive"),
        no_row("gpu_count_positive", "gpu_count <= 0", (*row,), "a projection is for at least one GPU"),
        no_finding("shorter_when_larger", SHORTER_WHEN_LARGER, "a larger job does not live longer"),
        *evidenced(*row),
    ]


SHORTER_WHEN_LARGER = """
    select
        cluster_id,
        concat(cluster_id, ': ', mttf_hours, ' h with ', gpu_count, ' GPUs, ', smaller, ' h with fewer') as finding
    from (
        select
            cluster_id,
            gpu_count,
            mttf_hours,
            lag(mttf_hours) over (partition by cluster_id order by gpu_count) as smaller
        from {batch}
    )
    where mttf_hours > smaller * (1 + 1e-9)
    order by finding
"""


def est_rate_changes() -> list[Rule]:
    """Demand changes within their limits and the data, and rates that differ."""
    row = ("cluster_id", "failure_category", "changed_at")
    return [
        *fitted("rate_before", *row),
        *fitted("rate_after", *row),
        *fitted("ratio", *row),
        ratio("trend_p_value", *row),
        no_row(
            "changed_at_inside_limits",
            "changed_at_low > changed_at or changed_at_high < changed_at",
            (*row, "changed_at_low", "changed_at_high"),
            "a change lies within its own limits",
        ),
        no_row(
            "ratio_is_of_the_rates",
            "rate_before > 0 and abs(ratio - rate_after / rate_before) > 1e-9 * (1 + ratio)",
            (*row, "ratio", "rate_before", "rate_after"),
            "the ratio is the rate after over the rate before",
        ),
        no_row(
            "no_change_no_ratio",
            "changed_at is null and (rate_after is not null or ratio is not null or annotation is not null)",
            (*row, "rate_after", "ratio", "annotation"),
            "without a change there is no rate after it",
        ),
        no_finding("spans_join", SPANS_JOIN, "the rate before a change is the rate after the one before it"),
        no_finding(
            "clusters_complete",
            "select cluster_id, cluster_id as finding from marts.dim_clusters "
            "anti join (from {batch} where failure_category = 'all') using (cluster_id)",
            "every cluster has a row for all its incidents",
        ),
        *evidenced(*row),
    ]


SPANS_JOIN = """
    select
        cluster_id,
        concat(cluster_id, ' ', failure_category, ' ', changed_at, ': ', rate_before, ', but ', rate_between)
        as finding
    from (
        select
            *,
            lag(rate_after) over (partition by cluster_id, failure_category order by changed_at) as rate_between
        from {batch}
        where changed_at is not null
    )
    where abs(rate_before - rate_between) > 1e-9 * (1 + rate_before)
    order by finding
"""


def est_rate_ratios() -> list[Rule]:
    """Demand ratios of their own counts, and p-values that agree with the limits."""
    row = ("comparison", "cluster_id", "other_cluster_id", "boundary_date", "population", "counted_as")
    return [
        no_row(
            "verdict_agrees_with_limits",
            "(verdict = 'worse' and coalesce(ratio_low, 0) <= 1) "
            "or (verdict = 'better' and coalesce(ratio_high, 2) >= 1) "
            "or (verdict = 'no change shown' and (coalesce(ratio_low > 1, false) or coalesce(ratio_high < 1, false))) "
            "or (verdict <> 'cannot tell' and not has_enough_data)",
            (*row, "verdict", "ratio_low", "ratio_high", "has_enough_data"),
            "the verdict says what the limits say, and nothing where too little was seen",
        ),
        one_of("comparison", ("clusters", "halves", "months"), "clusters or periods are compared"),
        *fitted("ratio", *row),
        ratio("p_value", *row),
        *(
            not_negative(name, *row)
            for name in ("failure_count", "node_days", "other_failure_count", "other_node_days")
        ),
        no_row(
            "ratio_is_of_its_counts",
            "abs(ratio * (other_failure_count / other_node_days) - failure_count / node_days) "
            "> 1e-9 * (1 + failure_count / node_days)",
            (*row, "ratio", "failure_count", "node_days", "other_failure_count", "other_node_days"),
            "the ratio is the first rate over the second",
        ),
        no_row(
            "p_value_agrees_with_limits",
            "abs(p_value - (1 - confidence_level)) > 1e-9 and (p_value < 1 - confidence_level) "
            "!= (coalesce(ratio_low > 1, false) or coalesce(ratio_high < 1, false))",
            (*row, "p_value", "ratio_low", "ratio_high"),
            "the rates differ by the p-value exactly where the limits leave 1 out",
        ),
        no_row(
            "sides_differ",
            "(comparison = 'clusters') = (cluster_id = other_cluster_id)",
            row,
            "clusters are compared with other clusters, periods within their own",
        ),
        *evidenced(*row),
    ]


def est_unit_failure_rates() -> list[Rule]:
    """Demand a rate between its limits, of failures that were recorded, and no more time down than in service."""
    row = ("cluster_id", "cause")
    return [
        interval("failures_per_1000_unit_days", *row),
        not_negative("unit_days", *row),
        not_negative("down_unit_days", *row),
        no_row(
            "parts_of_the_whole",
            "failure_count > recorded_count or incident_count > failure_count or down_unit_days > unit_days",
            (*row, "recorded_count", "failure_count", "incident_count", "down_unit_days", "unit_days"),
            "incidents are of failures, failures are recorded, and units are down while they are in service",
        ),
        *evidenced(*row),
    ]


def est_scale_tests() -> list[Rule]:
    """Demand a verdict that says what the limits say."""
    row = ("cluster_id",)
    verdicts = ("constant", "grows", "falls", "cannot tell")
    return [
        interval("beta", *row),
        finite(("beta", "beta_low", "beta_high", "dispersion"), *row),
        ratio("p_value", *row),
        not_negative("dispersion", *row),
        one_of("verdict", verdicts, "the verdict is one of four"),
        no_row(
            "verdict_follows_limits",
            "(verdict = 'constant') is distinct from coalesce(is_equivalent, false) "
            "or (verdict = 'grows' and not coalesce(beta_low > 0, false)) "
            "or (verdict = 'falls' and not coalesce(beta_high < 0, false))",
            (*row, "verdict", "is_equivalent", "beta_low", "beta_high"),
            "constant is what is equivalent, grows lies above 0, falls below",
        ),
        no_row(
            "equivalent_within_margin",
            "is_equivalent and not coalesce(beta_low > -equivalence_margin and beta_high < equivalence_margin, false)",
            (*row, "beta_low", "beta_high", "equivalence_margin"),
            "what is equivalent has its limits within the margin",
        ),
        no_finding(
            "clusters_complete",
            "select cluster_id, cluster_id as finding from marts.dim_clusters anti join {batch} using (cluster_id)",
            "every cluster has its row",
        ),
        *evidenced(*row),
    ]


def est_time_to_failure() -> list[Rule]:
    """Demand positive shapes and scales, and verdicts that follow the limits."""
    row = ("cluster_id", "gpu_size_bin")
    return [
        *fitted("weibull_shape", *row),
        *fitted("scale_hours", *row),
        ratio("p_value", *row),
        ratio("kolmogorov_distance", *row),
        ratio("goodness_of_fit_p_value", *row),
        not_negative("attempt_count", *row),
        one_of("verdict", ("constant", "rises", "falls", "cannot tell"), "the verdict is one of four"),
        no_row(
            "verdict_follows_limits",
            "(verdict = 'rises' and not coalesce(weibull_shape_low > 1, false)) "
            "or (verdict = 'falls' and not coalesce(weibull_shape_high < 1, false)) "
            "or (verdict = 'constant' and not coalesce(weibull_shape_low > 0.9 and weibull_shape_high < 1.11, false))",
            (*row, "verdict", "weibull_shape_low", "weibull_shape_high"),
            "rises lies above 1, falls below, constant close to it",
        ),
        no_finding("failures_among_those_of_the_size", FAILURES_AMONG, "the failures are among those of the size"),
        *evidenced(*row),
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
