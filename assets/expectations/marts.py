"""What must hold for the tables of `marts`. Each function gives the suite of the table with its name."""

from __future__ import annotations

from assets.expectations.fitted import fitted
from assets.expectations.rules import (
    EARLIEST_RECORD,
    Rule,
    believable_time,
    finite,
    in_order,
    interval,
    no_finding,
    no_row,
    not_negative,
    ratio,
    same_total,
)


def agg_attribution_controls() -> list[Rule]:
    """Demand that hits are among attempts, that one window is configured, and that a wider one sees no less."""
    row = ("cluster_id", "before_seconds", "after_seconds", "is_control", "gpu_size_bin", "failure_category")
    return [
        not_negative("hit_count", *row),
        no_row(
            "hits_among_attempts",
            "hit_count > attempt_count",
            (*row, "hit_count", "attempt_count"),
            "hits are among the attempts",
        ),
        no_finding("one_configured_window", ONE_CONFIGURED, "every cluster has one configured window"),
        no_finding("wider_sees_more", WIDER_SEES_MORE, "a window sees no less than one that lies within it"),
    ]


ONE_CONFIGURED = """
    select
        cluster_id,
        concat(cluster_id, ': ', count(distinct (before_seconds, after_seconds)) filter (is_configured)) as finding
    from {batch}
    group by cluster_id
    having count(distinct (before_seconds, after_seconds)) filter (is_configured) <> 1
    order by finding
"""

WIDER_SEES_MORE = """
    with hits as (
        select cluster_id, is_control, before_seconds, after_seconds, sum(hit_count) as hit_count
        from {batch}
        group by all
    )
    select cluster_id, concat(
        cluster_id, if(is_control, ' control', ' failed'), ': ', narrow.hit_count, ' hits within -',
        narrow.before_seconds, ' to ', narrow.after_seconds, ' s, ', wide.hit_count, ' within -', wide.before_seconds,
        ' to ', wide.after_seconds, ' s'
    ) as finding
    from hits as narrow
    inner join hits as wide using (cluster_id, is_control)
    where
        narrow.before_seconds <= wide.before_seconds
        and narrow.after_seconds <= wide.after_seconds
        and narrow.hit_count > wide.hit_count
    order by finding
"""


def agg_availability_monthly() -> list[Rule]:
    """Demand hours of five kinds that add up, and an availability and a budget between their limits."""
    row = ("cluster_id", "month_date")
    kinds = ("allocated", "idle", "planned_out", "failed", "unknown")
    return [
        *(not_negative(f"{kind}_node_hours", *row) for kind in kinds),
        no_row(
            "kinds_add_up",
            f"abs({' + '.join(f'{kind}_node_hours' for kind in kinds)} - total_node_hours) > 1e-6",
            (*row, "total_node_hours"),
            "the hours of all kinds add up to the total",
        ),
        ratio("availability", *row),
        interval("availability", *row),
        interval("error_budget_left", *row),
        no_row(
            "budget_needs_objective",
            "objective is null and (error_budget_left_high is not null or burn_pace is not null)",
            (*row, "error_budget_left_high", "burn_pace"),
            "without an objective there is no budget",
        ),
        finite(("availability", "error_budget_left", "burn_rate_1d", "burn_rate_28d"), *row),
    ]


def agg_check_introductions() -> list[Rule]:
    """Demand believable times in order, and nothing added before it reported."""
    row = ("cluster_id", "source", "check_name")
    return [
        believable_time("first_reported_at", *row),
        in_order("first_reported_at", "last_reported_at", *row),
        in_order("first_reported_at", "first_failed_at", *row),
        no_row(
            "introductions_known",
            "is_introduction is not null and not has_good_results",
            (*row, "is_introduction"),
            "without good results nobody knows when a check was added",
        ),
    ]


def agg_unmapped_signals() -> list[Rule]:
    """Demand believable times in order, and an event on a node for each signal but what names no node."""
    row = ("cluster_id", "kind", "signal")
    return [
        believable_time("first_seen_at", *row, earliest=EARLIEST_RECORD),
        in_order("first_seen_at", "last_seen_at", *row),
        no_row(
            "seen_on_nodes",
            "event_count < 1 or node_count > event_count "
            "or (node_count < 1 and kind not in ('kernel', 'failure_record'))",
            (*row, "event_count", "node_count"),
            "a signal was seen at least once, on as many nodes as events at most",
        ),
        ratio("failed_end_ratio", *row),
        ratio("completed_end_ratio", *row),
        no_row(
            "ratio_between_limits",
            "ratio < ratio_low or ratio > ratio_high",
            (*row, "ratio", "ratio_low", "ratio_high"),
            "a ratio lies between its limits",
        ),
    ]


def agg_cooccurrence() -> list[Rule]:
    """Demand parts of the failures, no category beside itself, and counts that agree."""
    row = ("cluster_id", "failure_category", "other_category")
    return [
        ratio("both_ratio", *row),
        not_negative("both_count", *row),
        no_row(
            "not_beside_itself",
            "failure_category = other_category",
            row,
            "a category is not beside itself",
        ),
        no_row(
            "both_among_failures",
            "both_count > failure_count or failure_count < 1",
            (*row, "both_count", "failure_count"),
            "both_count is part of failure_count",
        ),
        no_finding("one_failure_count", ONE_FAILURE_COUNT, "every row of a cause counts the same failures"),
    ]


ONE_FAILURE_COUNT = """
    select
        cluster_id,
        concat(cluster_id, ' ', failure_category, ': ', min(failure_count), ' and ', max(failure_count)) as finding
    from {batch}
    group by cluster_id, failure_category
    having min(failure_count) <> max(failure_count)
    order by finding
"""


def agg_crash_loops() -> list[Rule]:
    """Demand at least three failures in a row, and victims that were preempted."""
    row = ("cluster_id", "run_id")
    return [
        in_order("started_at", "ended_at", *row),
        not_negative("lost_gpu_hours", *row),
        not_negative("victim_gpu_count", *row),
        no_row(
            "three_in_a_row",
            "consecutive_failure_count < 3 or consecutive_failure_count > failure_count",
            (*row, "consecutive_failure_count", "failure_count"),
            "a crash loop is three failures in a row at least",
        ),
        no_row(
            "second_order_among_victims",
            "second_order_victim_count > victim_count",
            (*row, "second_order_victim_count", "victim_count"),
            "second-order losses are among the victims",
        ),
    ]


def agg_failure_rates_by_cause() -> list[Rule]:
    """Demand possible rates."""
    row = ("cluster_id", "failure_category")
    rate = "failures_per_gpu_hour"
    return [
        not_negative("failure_count", *row),
        not_negative("gpu_hours", *row),
        no_row(
            "expected_among_failures",
            "gpu_hours is not null and not coalesce(expected_failure_count between 0 and failure_count, false)",
            (*row, "expected_failure_count", "failure_count"),
            "as many failures are expected as there are, or fewer",
        ),
        finite((rate,), *row),
    ]


def agg_failure_rates_daily() -> list[Rule]:
    """Demand possible rates, a row for each covered day, and all listed failures."""
    row = ("cluster_id", "day_date", "failure_category")
    rate = "failures_per_1000_node_days_30d"
    return [
        not_negative("failure_count", *row),
        not_negative("node_days", *row),
        not_negative(rate, *row),
        finite((rate, "node_days"), *row),
        no_row(
            "rate_needs_exposure",
            f"{rate} is not null and coalesce(node_days_30d, 0) = 0",
            (*row, rate, "node_days_30d"),
            "a rate rests on node-days",
        ),
        no_finding("days_complete", DAYS_COMPLETE, "every day that accounting covers has its row"),
        same_total(
            "failures_reconcile",
            "select cluster_id, sum(failure_count) as total from {batch} group by 1",
            COVERED_FAILURES,
            "the days hold every failure of a day that accounting covers",
        ),
    ]


LAST_DAY = "(to_at - if(known_by = 'log', 0, 1) * interval 1 second)::date"
"""What is said to go until midnight ends on the day before."""

COVERED_FAILURES = f"""
    select cluster_id, count(*) as total
    from marts.fct_failures as failures
    where exists (
        from ops.spans
        where spans.cluster_id = failures.cluster_id and spans.kind = 'sacct'
            and failures.failed_at::date between from_at::date and {LAST_DAY}
    )
    group by cluster_id
"""

DAYS_COMPLETE = f"""
    select cluster_id, concat(
        cluster_id, ' ', failure_category, ': ', day_count, ' rows from ', first_date, ' to ', last_date
    ) as finding
    from (
        select
            cluster_id, failure_category, count(*) as day_count, min(day_date) as first_date, max(day_date) as last_date
        from {{batch}}
        group by cluster_id, failure_category
    ) as series
    where day_count <> (
        select count(distinct days.covered_date)
        from (
            select
                cluster_id,
                unnest(generate_series(from_at::date, {LAST_DAY}, interval 1 day))::date as covered_date
            from ops.spans where kind = 'sacct'
        ) as days
        where days.cluster_id = series.cluster_id and days.covered_date between series.first_date and series.last_date
    )
    order by finding
"""


def agg_job_sizes() -> list[Rule]:
    """Demand possible shares, and GPU-hours that are those of the attempts."""
    row = ("cluster_id", "gpu_size_bin")
    return [
        not_negative("job_count", *row),
        ratio("job_ratio", *row),
        ratio("gpu_time_ratio", *row),
        same_total(
            "gpu_hours_reconcile",
            "select cluster_id, sum(gpu_hours) as total from {batch} group by 1",
            "select cluster_id, sum(gpu_hours) as total from marts.fct_attempts where is_terminal group by 1",
            "the sizes hold the GPU-hours of every attempt that is over",
            tolerance=1e-9,
        ),
    ]


def agg_job_states() -> list[Rule]:
    """Demand possible shares, and GPU-hours that are those of the attempts."""
    row = ("cluster_id", "state")
    return [
        ratio("attempt_ratio", *row),
        ratio("gpu_time_ratio", *row),
        same_total(
            "gpu_hours_reconcile",
            "select cluster_id, sum(gpu_hours) as total from {batch} where not is_infrastructure group by 1",
            "select cluster_id, sum(gpu_hours) as total from marts.fct_attempts where is_terminal group by 1",
            "the states hold the GPU-hours of every attempt that is over",
            tolerance=1e-9,
        ),
    ]


NODE_DAY_COUNTS = (
    *("excl_jobid_count", "xid_cnt", "tickets", "out_count", "multi_node_node_fails", "single_node_node_fails"),
    *("single_node_attempt_count", "in_use_node_days"),
)


def agg_lemon_signals() -> list[Rule]:
    """Demand possible counts on every day of every node, within the window."""
    row = ("cluster_id", "node_id", "window_end_date")
    return [
        *(not_negative(name, *row) for name in NODE_DAY_COUNTS),
        ratio("single_node_node_failure_rate", *row),
        no_row(
            "in_use_within_window",
            "in_use_node_days > window_days + 1e-6",
            (*row, "in_use_node_days", "window_days"),
            "a node is not in use for longer than the window",
        ),
        no_finding("every_day_there", EVERY_DAY_THERE, "every node has a row for each day of its cluster"),
    ]


EVERY_DAY_THERE = """
    select cluster_id, concat(cluster_id, ': ', here, ' rows, ', expected, ' node-days') as finding
    from (select cluster_id, count(*) as here from {batch} group by cluster_id)
    full join (select cluster_id, count(*) as expected from marts.fct_node_days group by cluster_id) using (cluster_id)
    where here is distinct from expected
    order by finding
"""


def agg_lost_goodput() -> list[Rule]:
    """Demand possible losses."""
    row = ("cluster_id", "gpu_size_bin")
    return [
        *fitted("expected_lost_gpu_hours", *row),
        not_negative("first_order_gpu_hours", *row),
        not_negative("second_order_gpu_hours", *row),
        finite(("first_order_gpu_hours", "second_order_gpu_hours"), *row),
        no_finding(
            "at_most_half_a_checkpoint_interval",
            """
            select
                cluster_id,
                concat(cluster_id, ' ', gpu_size_bin, ': ', first_order_gpu_hours, ' hours by ', failure_count,
                ' failures, ', second_order_gpu_hours, ' by ', second_order_count, ' preemptions') as finding
            from {batch}
            inner join marts.dim_clusters using (cluster_id)
            where first_order_gpu_hours > checkpoint_minutes / 120 * gpu_size_bin * failure_count + 1e-6
                or second_order_gpu_hours > checkpoint_minutes / 120 * gpu_size_bin * second_order_count + 1e-6
            """,
            "nothing loses more of its GPUs' time than half the configured checkpoint interval",
        ),
    ]


def agg_lost_hours_by_account() -> list[Rule]:
    """Demand a credit statement that adds up, priced as configured."""
    return _credit_statement("cluster_id", "account", "user_name")


def agg_lost_hours_by_account_monthly() -> list[Rule]:
    """Demand of each month's credit statement what is demanded of the whole."""
    return _credit_statement("cluster_id", "month_date", "account", "user_name")


def _credit_statement(*row: str) -> list[Rule]:
    return [
        *fitted("expected_lost_gpu_hours", *row),
        *fitted("expected_lost_cost", *row),
        not_negative("lost_gpu_hours", *row),
        not_negative("lost_cost", *row),
        finite(("lost_gpu_hours", "lost_cost"), *row),
        no_row(
            "orders_add_up",
            "abs(coalesce(first_order_gpu_hours, 0) + coalesce(second_order_gpu_hours, 0)"
            " - coalesce(lost_gpu_hours, 0)) > 1e-6 * (1 + coalesce(lost_gpu_hours, 0))",
            (*row, "first_order_gpu_hours", "second_order_gpu_hours", "lost_gpu_hours"),
            "first and second order make up the loss",
        ),
        no_row(
            "cost_needs_hours",
            "lost_cost is not null and lost_gpu_hours is null",
            (*row, "lost_cost"),
            "unknown hours have no cost",
        ),
    ]


def fct_attempts() -> list[Rule]:
    """Demand that every accounting record arrived, with possible durations and sizes."""
    row = ("attempt_id",)
    return [
        same_total(
            "records_complete",
            "select cluster_id, count(*) as total from {batch} group by cluster_id",
            "select cluster_id, count(*) as total from raw.sacct where disposition = 'loaded' group by cluster_id",
            "there are as many attempts as loaded accounting records",
        ),
        not_negative("runtime_seconds", *row),
        not_negative("queue_seconds", *row),
        not_negative("gpu_count", *row),
        not_negative("gpu_hours", *row),
        not_negative("node_days", *row),
        in_order("submitted_at", "started_at", *row),
        in_order("started_at", "ended_at", *row),
        no_row(
            "ends_complete",
            "(is_terminal and not has_ended) or (has_ended and runtime_seconds is null)",
            (*row, "is_terminal", "has_ended", "runtime_seconds"),
            "what is over has ended, and what has ended has a runtime",
        ),
        believable_time("ended_at", *row),
        no_row(
            "gpus_of_nodes",
            "gpu_count_source = 'refuted'",
            (*row, "job_id", "node_count", "source_path", "source_line_number"),
            "no job has more GPUs than its nodes; of one that has, they count as unknown",
            warns=True,
        ),
        no_finding("failures_believable", FAILURES_BELIEVABLE, "infrastructure ends few of the attempts", warns=True),
    ]


MAX_INFRASTRUCTURE_FAILURES = 0.2

FAILURES_BELIEVABLE = f"""
    select cluster_id, concat(
        cluster_id, ': ', count(*) filter (is_infrastructure_failure), ' of ', count(*),
        ' attempts count as infrastructure failures'
    ) as finding
    from {{batch}}
    where is_terminal
    group by cluster_id
    having count(*) filter (is_infrastructure_failure) > {MAX_INFRASTRUCTURE_FAILURES} * count(*)
    order by cluster_id
"""


def fct_failures() -> list[Rule]:
    """Demand believable times, an attribution with its reason, and possible losses."""
    row = ("attempt_id",)
    return [
        believable_time("failed_at", *row),
        not_negative("evidence_count", *row),
        not_negative("lost_gpu_hours", *row),
        no_finding("loss_bounded", LOSS_BOUNDED, "a failure loses at most the GPU time its attempt used"),
    ]


LOSS_BOUNDED = """
    select
        cluster_id,
        concat('attempt_id ', attempt_id, ', lost_gpu_hours ', lost_gpu_hours, ', gpu_hours ', gpu_hours) as finding
    from {batch} as failures
    inner join marts.fct_attempts as attempts using (cluster_id, attempt_id)
    where failures.lost_gpu_hours > attempts.gpu_hours * (1 + 1e-9) + 1e-9
    order by finding
"""

MAX_COMPLETED_WITH_EVIDENCE = 0.01


def fct_health_events() -> list[Rule]:
    """Demand believable times, and evidence that healthy work rarely shows."""
    return [
        believable_time("observed_at", "event_id"),
        no_finding(
            "completed_with_evidence",
            COMPLETED_WITH_EVIDENCE,
            f"under {MAX_COMPLETED_WITH_EVIDENCE:.0%} of completed attempts saw evidence, so evidence means something",
            warns=True,
        ),
    ]


# Events and attempts meet per node and week: on the node alone a year of a large cluster makes 10^9 pairs, and by the
# day an attempt of months takes hundreds of rows.
COMPLETED_WITH_EVIDENCE = f"""
    with evidence as (
        select distinct cluster_id, node_id, observed_at, date_trunc('week', observed_at) as week_date
        from {{batch}}
        where is_evidence
    ),

    completed as (
        select cluster_id, attempt_id, started_at, ended_at
        from marts.fct_attempts
        where state = 'COMPLETED' and started_at is not null and ended_at is not null
    ),

    placed as (
        select
            completed.*,
            nodes.node_id,
            unnest(
                generate_series(
                    date_trunc('week', completed.started_at), date_trunc('week', completed.ended_at), interval 7 day
                )
            ) as week_date
        from completed
        inner join marts.fct_attempt_nodes as nodes using (cluster_id, attempt_id)
    ),

    touched as (
        select placed.cluster_id, count(distinct placed.attempt_id) as attempt_count
        from placed
        inner join evidence using (cluster_id, node_id, week_date)
        where evidence.observed_at between placed.started_at and placed.ended_at
        group by placed.cluster_id
    )

    select
        cluster_id,
        concat(cluster_id, ': ', touched.attempt_count, ' of ', count(*), ' completed attempts') as finding
    from completed
    inner join touched using (cluster_id)
    group by cluster_id, touched.attempt_count
    having touched.attempt_count >= {MAX_COMPLETED_WITH_EVIDENCE} * count(*)
    order by cluster_id
"""


def fct_incident_suspects() -> list[Rule]:
    """Demand that a known culprit stands alone, and that every suspect is counted."""
    row = ("cluster_id", "incident_id", "node_id")
    return [
        not_negative("lost_gpu_hours", *row),
        ratio("incident_probability", *row),
        no_row(
            "known_stands_alone",
            "suspect_count < 1 or (is_known and suspect_count <> 1)",
            (*row, "suspect_count"),
            "a known culprit is the only suspect",
        ),
        no_finding("suspects_counted", SUSPECTS_COUNTED, "as many suspects as are counted"),
    ]


SUSPECTS_COUNTED = """
    select cluster_id, concat(incident_id, ': ', any_value(suspect_count), ' counted, ', count(*), ' there') as finding
    from {batch}
    where not is_known
    group by cluster_id, incident_id
    having count(*) <> any_value(suspect_count)
    order by finding
"""


def fct_incidents() -> list[Rule]:
    """Demand believable times, and no incident without an attempt."""
    return [
        believable_time("started_at", "incident_id"),
        no_row("not_empty", "attempt_count < 1", ("incident_id", "attempt_count"), "an incident has an attempt"),
    ]


def fct_job_runs() -> list[Rule]:
    """Demand no negative hours, a possible ETTR and number of failures.

    Every rule is a scan of a view that is worked out anew; that values lie between their bounds is dbt's to test.
    """
    row = ("cluster_id", "run_id")
    hours = ("queue_hours", "productive_hours", "unproductive_hours", "wallclock_hours")
    return [
        no_row(
            "hours_not_negative",
            " or ".join(f"{name} < 0" for name in hours),
            (*row, *hours),
            "hours are zero or more",
        ),
        in_order("started_at", "ended_at", *row),
        ratio("ettr", *row),
        no_row(
            "failures_bounded",
            "infrastructure_failure_count not between 0 and attempt_count",
            (*row, "infrastructure_failure_count", "attempt_count"),
            "a run has no more failures than attempts",
        ),
    ]


# Node failures are noticed minutes late, so two jobs may seem to hold a GPU at once for a while.
MAX_ALLOCATED_RATIO = 1.05


def fct_node_days() -> list[Rule]:
    """Demand no more hours in a day than there are, on no more GPUs than the node has."""
    row = ("cluster_id", "node_id", "day_date")
    return [
        not_negative("allocated_gpu_hours", *row),
        not_negative("failure_count", *row),
        no_row(
            "out_of_service_within_day",
            "out_of_service_hours not between 0 and 24 + 1e-9",
            (*row, "out_of_service_hours"),
            "a node is out of service for 0 to 24 hours of a day",
        ),
        no_row(
            "in_use_within_day",
            "in_use_hours not between 0 and 24 + 1e-9",
            (*row, "in_use_hours"),
            "a node is in use for 0 to 24 hours of a day",
        ),
        no_finding(
            "allocated_within_day", ALLOCATED_WITHIN_DAY, "a node gives at most 24 hours of each GPU a day", warns=True
        ),
    ]


ALLOCATED_WITHIN_DAY = f"""
    select
        cluster_id,
        concat(cluster_id, ' ', node_id, ' ', day_date, ': ', allocated_gpu_hours, ' of ', 24 * gpu_count) as finding
    from {{batch}}
    where allocated_gpu_hours > {MAX_ALLOCATED_RATIO} * 24 * gpu_count
    order by finding
"""


def fct_node_outages() -> list[Rule]:
    """Demand intervals that run forward, open or ended."""
    row = ("cluster_id", "node_id")
    return [
        believable_time("started_at", *row, earliest=EARLIEST_RECORD),
        in_order("requested_at", "started_at", *row),
        in_order("started_at", "ended_at", *row),
        no_row(
            "open_without_end",
            "is_open <> (ended_at is null)",
            (*row, "started_at", "is_open", "ended_at"),
            "an outage is open exactly when it has no end",
        ),
    ]


def fct_unit_failures() -> list[Rule]:
    """Demand failures that run forward for as long as they say."""
    row = ("cluster_id", "source_path", "source_line_number")
    return [
        believable_time("started_at", *row, earliest=EARLIEST_RECORD),
        in_order("started_at", "ended_at", *row),
        no_row(
            "minutes_between_start_and_end",
            "(ended_at is null) <> (down_minutes is null) "
            "or abs(epoch(ended_at - started_at) / 60 - down_minutes) > 1e-3",
            (*row, "started_at", "ended_at", "down_minutes"),
            "a failure is down from its start to its end",
        ),
    ]


def fct_preemptions() -> list[Rule]:
    """Demand believable times, possible losses, and no attempt that preempts itself."""
    return [
        believable_time("preempted_at", "attempt_id"),
        not_negative("lost_gpu_hours", "attempt_id"),
        no_row(
            "not_of_itself",
            "attempt_id = instigator_attempt_id",
            ("attempt_id", "instigator_attempt_id"),
            "no attempt preempts itself",
        ),
    ]
