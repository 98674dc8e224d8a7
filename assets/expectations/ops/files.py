"""What must hold for ops.files: every line has one fate, and few lines are beyond understanding."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, no_finding, no_row, not_negative

# A node that is not in the inventory and a last line cut off by a running writer are no sign of a misread format.
EXCUSED = "'unknown_node', 'truncated_record'"
NOT_DATA = "'header', 'blank', 'comment', 'step', 'pending_array'"


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns("cluster_id", "path", "kind", "lines_in", "loaded", "skipped", "quarantined"),
        no_row(
            "identity",
            "lines_in <> loaded + skipped + quarantined",
            ("path", "lines_in", "loaded", "skipped", "quarantined"),
            "lines_in = loaded + skipped + quarantined",
        ),
        *(not_negative(name, "path") for name in ("loaded", "skipped", "quarantined")),
        no_finding("breaker", BREAKER, "a file's share of quarantined lines stays below [quarantine] max_share"),
        no_finding("quarantine_kept", QUARANTINE_KEPT, "every quarantined line is kept in ops.quarantine"),
        no_finding("skips_explained", SKIPS_EXPLAINED, "every skipped line is counted with its reason in ops.skips"),
    ]


BREAKER = f"""
    with bad as (
        select
            cluster_id,
            path,
            count(distinct line_number) as line_count,
            min_by(
                concat('line ', line_number, ' ', reason, coalesce(' ' || left(nullif(detail, ''), 120), '')),
                line_number
            ) as first_line
        from ops.quarantine
        where reason not in ({EXCUSED})
        group by all
    ),

    not_data as (
        select cluster_id, path, sum(line_count) as line_count
        from ops.skips
        where reason in ({NOT_DATA})
        group by all
    ),

    judged as (
        select
            files.path,
            bad.line_count as bad_count,
            bad.first_line,
            files.lines_in - coalesce(not_data.line_count, 0) as data_count,
            coalesce(clusters.quarantine_max_share, 0.01) as max_share
        from {{batch}} as files
        inner join bad using (cluster_id, path)
        left join not_data using (cluster_id, path)
        left join raw.clusters as clusters using (cluster_id)
    )

    select concat(
        path, ': ', bad_count, ' of ', data_count, ' lines quarantined (',
        round(100 * bad_count / greatest(data_count, 1), 1), '% > ', round(100 * max_share, 2), '%), first: ',
        first_line
    ) as finding
    from judged
    where bad_count > greatest(1, max_share * data_count)
    order by path
"""

QUARANTINE_KEPT = """
    with kept as (
        select cluster_id, path, count(distinct line_number) as line_count
        from ops.quarantine
        group by all
    )

    select concat(path, ': ', quarantined, ' quarantined, ', coalesce(line_count, 0), ' kept') as finding
    from {batch} as files
    left join kept using (cluster_id, path)
    where quarantined <> coalesce(line_count, 0)
    order by path
"""

SKIPS_EXPLAINED = """
    with explained as (
        select cluster_id, path, sum(line_count) as line_count
        from ops.skips
        group by all
    )

    select concat(path, ': ', skipped, ' skipped, ', coalesce(line_count, 0), ' explained') as finding
    from {batch} as files
    left join explained using (cluster_id, path)
    where skipped <> coalesce(line_count, 0)
    order by path
"""
