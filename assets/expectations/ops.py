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

CLOCK_SAYS = "concat('this machine''s clock says ', strftime(timezone('UTC', now()), '%Y-%m-%d %H:%M'), ' UTC, and ')"

NEWEST = """
    select cluster_id, max(last_at) as newest_at
    from {batch}
    semi join (from ops.spans where known_by = 'clock') as cut using (cluster_id)
    group by cluster_id
"""

# Lines of accounting after both the clock and the file's modification are quarantined as they are read.
AFTER_NOW = f"""
    select cluster_id, concat(
        {CLOCK_SAYS}, strftime(newest_at, 'the newest record is of %Y-%m-%d %H:%M'),
        ' UTC: set the clock or check the exports, then run `faultline refresh`; until then the study ends now'
    ) as finding
    from ({NEWEST})
    union all
    select cluster_id, concat(
        {CLOCK_SAYS}, sum(line_count), ' lines of accounting, as in ', min(path),
        ', are dated later: set the clock or check the exports, then run `faultline refresh --full`'
    ) as finding
    from (
        select files.cluster_id, files.path, count(*) as line_count
        from {{batch}} as files
        inner join ops.quarantine using (cluster_id, path)
        left join raw.clusters using (cluster_id)
        where quarantine.reason = 'timestamp_in_future'
        group by all
        having count(*) > greatest(1, any_value(coalesce(quarantine_max_share, 0.01) * lines_in))
    )
    group by cluster_id
"""

ALL_AFTER_NOW = f"""
    select cluster_id, concat(
        {CLOCK_SAYS}, strftime(min(first_at), 'the first record of accounting is of %Y-%m-%d %H:%M'),
        ' UTC: set the clock, then run `faultline refresh`'
    ) as finding
    from {{batch}}
    where kind = 'sacct'
    group by cluster_id
    having min(first_at) > timezone('UTC', now()) + interval 1 day
"""

BREAKER = "a file's share of quarantined lines stays below [quarantine] max_share"

RULES: dict[str, list[Rule]] = {
    "files": [
        no_row(
            "identity",
            "lines_in <> loaded + skipped + quarantined or least(loaded, skipped, quarantined) < 0",
            ("path", "lines_in", "loaded", "skipped", "quarantined"),
            "lines_in = loaded + skipped + quarantined, and none is negative",
        ),
        no_finding("after_now", AFTER_NOW, "no record is dated after now", warns=True),
        no_finding("begins_before_now", ALL_AFTER_NOW, "accounting begins before now"),
        no_finding("breaker", f"{DOUBTFUL} and kind = 'sacct' and version_of is null", BREAKER),
        no_finding("breaker_of_evidence", f"{DOUBTFUL} and kind <> 'sacct'", BREAKER, warns=True),
        no_finding("quarantine_kept", QUARANTINE_KEPT, "every quarantined line is kept in ops.quarantine"),
        no_finding("skips_explained", SKIPS_EXPLAINED, "every skipped line is counted with its reason in ops.skips"),
    ],
}
