"""What must hold for marts.agg_attribution_controls: hits among attempts, one configured window, windows that grow."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, no_finding, no_row, not_negative

ROW = ("cluster_id", "before_seconds", "after_seconds", "is_control", "gpu_size_bin", "failure_category")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "is_configured", "attempt_count", "hit_count"),
        not_negative("hit_count", *ROW),
        no_row(
            "hits_among_attempts",
            "hit_count > attempt_count",
            (*ROW, "hit_count", "attempt_count"),
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
