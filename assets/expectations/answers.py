"""What must hold for the tables of `estimates` that answer one question each. Each function is the suite of a table.

The questions: where in the machine, did the repair work, did the change help, which check to trust, what is hidden.
"""

from __future__ import annotations

from assets.expectations.fitted import evidenced, fitted
from assets.expectations.rules import Rule, finite, no_row, not_negative, one_of, ratio


def est_check_scores() -> list[Rule]:
    """Demand shares inside their limits, no more judged than seen, and a verdict that follows the limits."""
    row = ("cluster_id", "check_name")
    return [
        *(ratio(name, *row) for name in ("true_share", "low", "high")),
        no_row(
            "true_share_inside_limits",
            "true_share < low - 1e-9 or true_share > high + 1e-9",
            (*row, "true_share", "low", "high"),
            "low <= true_share <= high",
        ),
        *fitted("false_per_node_month", *row),
        *(not_negative(name, *row) for name in ("drained_node_hours", "alone_count", "lost_count")),
        no_row(
            "judged_of_seen",
            "judged_count > event_count or lost_count > alone_count + 1e-6",
            (*row, "judged_count", "event_count", "lost_count", "alone_count"),
            "no more onsets are judged than were seen, and no more failures lost than the check showed alone",
        ),
        no_row(
            "verdict_follows_limits",
            "(true_share is null and verdict <> 'cannot tell') or (verdict in ('drop', 'tune') and high >= 0.5) "
            "or (verdict = 'keep' and low < 0.5)",
            (*row, "verdict", "low", "high"),
            "what is dropped or tuned is surely false more often than true, and what is kept surely true more often",
        ),
        *evidenced(*row),
    ]


def est_hidden_failures() -> list[Rule]:
    """Demand odds ratios inside their limits, and suspects that stand out."""
    row = ("cluster_id", "kind", "node_id")
    return [
        *(not_negative(name, *row) for name in ("odds_ratio", "low", "expected_count", "attempt_count")),
        no_row(
            "held_of_known",
            "held_gpu_hours < 0 or held_gpu_hours > exposure * (1 + 1e-9)",
            (*row, "held_gpu_hours", "exposure"),
            "no more GPU-hours are held without use than are known",
        ),
        finite(("odds_ratio", "low", "high"), *row),
        no_row(
            "odds_ratio_inside_limits",
            "odds_ratio < low * (1 - 1e-9) or odds_ratio > high * (1 + 1e-9)",
            (*row, "odds_ratio", "low", "high"),
            "low <= odds_ratio <= high",
        ),
        ratio("q_value", *row),
        no_row(
            "suspects_stand_out",
            "is_suspect and not coalesce(q_value <= 0.05 and event_count > expected_count, false)",
            (*row, "q_value", "event_count", "expected_count"),
            "a suspect has more such ends than expected, and few such findings are false",
        ),
        *evidenced(*row),
    ]


def est_location_rates() -> list[Rule]:
    """Demand rates, ratios and shares inside their limits, and no verdict without its reason."""
    row = ("cluster_id", "place_kind", "place")
    return [
        *fitted("failures_per_1000_node_days", *row),
        *fitted("common_cause_share", *row),
        *fitted("mttf_hours", *row),
        *fitted("independent_mttf_hours", *row),
        *(ratio(name, *row) for name in ("common_cause_share", "common_cause_share_high", "common_cause_q_value")),
        *(not_negative(name, *row) for name in ("ratio", "low", "node_count", "burst_count", "expected_burst_count")),
        ratio("q_value", *row),
        no_row(
            "ratio_inside_limits",
            "ratio < low * (1 - 1e-9) or ratio > high * (1 + 1e-9)",
            (*row, "ratio", "low", "high"),
            "low <= ratio <= high",
        ),
        finite(("ratio", "low", "high"), *row, check="ratio_finite"),
        no_row(
            "verdict_has_its_reason",
            "(verdict in ('fails more', 'both')) <> (q_value is not null and q_value <= 0.05) "
            "or (verdict in ('fails together', 'both')) <> (common_cause_q_value <= 0.05)",
            (*row, "verdict", "q_value", "common_cause_q_value"),
            "a place is called different where its q-value says so, and nowhere else",
        ),
        no_row(
            "jobs_last_no_shorter_with_common_causes",
            "mttf_hours < independent_mttf_hours * (1 - 1e-9)",
            (*row, "mttf_hours", "independent_mttf_hours"),
            "failures that come together end a job less often than as many that come one by one",
        ),
        *evidenced(*row),
    ]


def est_changes() -> list[Rule]:
    """Demand ratios inside their limits, and verdicts that follow from what was seen."""
    row = ("cluster_id", "change_kind", "changed_at", "failure_category")
    return [
        *(not_negative(name, *row) for name in ("ratio", "low", "unchanged_ratio")),
        *(ratio(name, *row) for name in ("p_value", "q_value", "smallest_ratio")),
        no_row(
            "ratio_inside_limits",
            "ratio < low - 1e-9 * (1 + ratio) or ratio > high + 1e-9 * (1 + ratio) or low > high",
            (*row, "ratio", "low", "high"),
            "low <= ratio <= high",
        ),
        no_row(
            "q_value_above_p_value",
            "q_value < p_value - 1e-9",
            (*row, "p_value", "q_value"),
            "many comparisons make nothing more certain",
        ),
        no_row(
            "verdict_follows",
            "(verdict in ('helped', 'hurt') and (coalesce(q_value, 1) > 0.05 or (verdict = 'helped') = (ratio >= 1)))"
            " or (verdict = 'no change shown' and coalesce(smallest_ratio, 0) < 0.5)"
            " or (verdict = 'hurt' and change_kind = 'check')",
            (*row, "verdict", "ratio", "q_value", "smallest_ratio"),
            "a verdict is shown by its row, and no check makes machines fail",
        ),
        no_row(
            "in_order",
            "last_changed_at < changed_at or changed_node_count > node_count",
            (*row, "last_changed_at", "changed_node_count", "node_count"),
            "the last node changes after the first, and no more nodes change than are known",
        ),
        *evidenced(*row),
    ]


def est_repairs() -> list[Rule]:
    """Demand shares and times inside their limits, relapses that grow with time, and no verdict without a test."""
    row = ("cluster_id", "failure_category", "repair_action")
    values = ("relapse_7d_ratio", "relapse_30d_ratio", "days_to_relapse", "repair_hours")
    return [
        *(rule for value in values for rule in fitted(value, *row)),
        *(ratio(value, *row) for value in (*values[:2], "p_value")),
        *evidenced(*row),
        one_of(
            "repair_action",
            ("reboot", "reset", "reseat", "exchange", "none", "unknown"),
            "every action is one of the list",
        ),
        one_of(
            "verdict",
            ("try first", "holds longer", "relapses sooner", "cannot tell"),
            "every verdict is one of the list",
        ),
        no_row(
            "relapses_grow_with_time",
            "relapse_30d_ratio < relapse_7d_ratio - 1e-9",
            (*row, "relapse_7d_ratio", "relapse_30d_ratio"),
            "what was back within 7 days was back within 30",
        ),
        no_row(
            "relapses_within_repairs",
            "event_count > repair_count",
            (*row, "event_count", "repair_count"),
            "a repair relapses once",
        ),
        no_row(
            "verdict_needs_test",
            "verdict <> 'cannot tell' and p_value is null",
            (*row, "verdict", "p_value"),
            "no action is judged without a comparison",
        ),
    ]
