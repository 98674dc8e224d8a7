"""What must hold for `ops.files`: every line is loaded, skipped or quarantined, and few are quarantined."""

from __future__ import annotations

from assets.expectations.rules import Rule, no_finding, no_row

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
"""

BREAKER = "a file's share of quarantined lines stays below [quarantine] max_share"

RULES: dict[str, list[Rule]] = {
    "files": [
        no_row(
            "identity",
            "lines_in <> loaded + skipped + quarantined or least(loaded, skipped, quarantined) < 0",
            ("path", "lines_in", "loaded", "skipped", "quarantined"),
            "lines_in = loaded + skipped + quarantined, of which none is negative",
        ),
        no_finding("breaker", f"{DOUBTFUL} and kind = 'sacct' and version_of is null", BREAKER),
        no_finding("breaker_of_evidence", f"{DOUBTFUL} and kind <> 'sacct'", BREAKER, warns=True),
        no_finding("quarantine_kept", QUARANTINE_KEPT, "every quarantined line is kept in ops.quarantine"),
        no_finding("skips_explained", SKIPS_EXPLAINED, "every skipped line is counted with its reason in ops.skips"),
    ],
}
