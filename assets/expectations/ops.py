"""What must hold for the tables of `ops`. Each function gives the suite of the table with its name."""

from __future__ import annotations

from assets.expectations.rules import Rule, no_finding, no_row, not_negative


def files() -> list[Rule]:
    """Demand that every line is loaded, skipped or quarantined, and that few are quarantined."""
    breaker = "a file's share of quarantined lines stays below [quarantine] max_share"
    return [
        no_row(
            "identity",
            "lines_in <> loaded + skipped + quarantined",
            ("path", "lines_in", "loaded", "skipped", "quarantined"),
            "lines_in = loaded + skipped + quarantined",
        ),
        *(not_negative(name, "path") for name in ("loaded", "skipped", "quarantined")),
        no_finding("breaker", f"{DOUBTFUL} and kind = 'sacct' and version_of is null", breaker),
        no_finding("breaker_of_evidence", f"{DOUBTFUL} and kind <> 'sacct'", breaker, warns=True),
        no_finding("quarantine_kept", QUARANTINE_KEPT, "every quarantined line is kept in ops.quarantine"),
        no_finding("skips_explained", SKIPS_EXPLAINED, "every skipped line is counted with its reason in ops.skips"),
    ]


DOUBTFUL = """
    select cluster_id, concat(path, ': ', reason) as finding from {batch} where status = 'doubtful'
"""

QUARANTINE_KEPT = """
    with kept as (
        select cluster_id, path, count(distinct line_number) as line_count
        from ops.quarantine
        group by all
    )

    select cluster_id, concat(path, ': ', quarantined, ' quarantined, ', coalesce(line_count, 0), ' kept') as finding
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

    select cluster_id, concat(path, ': ', skipped, ' skipped, ', coalesce(line_count, 0), ' explained') as finding
    from {batch} as files
    left join explained using (cluster_id, path)
    where skipped <> coalesce(line_count, 0)
    order by path
"""
