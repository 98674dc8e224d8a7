-- Rows are never fewer than lines. If the account is complete with rows, each line gave one row. Only for the other
-- files are distinct lines counted, which takes ten times as long.
create or replace temp table line_counts as
select
    files.cluster_id, files.path, files.lines_in,
    coalesce(loaded.row_count, 0) as loaded,
    coalesce(skipped.line_count, 0) as skipped,
    coalesce(quarantined.line_count, 0) as quarantined
from ops.files
left join (
    select cluster_id, path, count(*) as row_count
    from raw.{{ table }} where disposition = 'loaded' group by all
) as loaded using (cluster_id, path)
left join (
    select cluster_id, path, sum(line_count) as line_count from ops.skips group by all
) as skipped using (cluster_id, path)
left join (
    select cluster_id, path, count(*) as line_count from ops.quarantine group by all
) as quarantined using (cluster_id, path)
where files.kind = {{ kind | literal }};

update line_counts set loaded = counted.line_count
from (
    select cluster_id, path, count(distinct line_number) as line_count
    from raw.{{ table }}
    semi join (from line_counts where lines_in <> loaded + skipped + quarantined) as unclear using (cluster_id, path)
    where disposition = 'loaded' group by all
) as counted
where counted.cluster_id = line_counts.cluster_id and counted.path = line_counts.path;

update ops.files set loaded = counts.loaded, skipped = counts.skipped, quarantined = counts.quarantined
from line_counts as counts
where counts.cluster_id = files.cluster_id and counts.path = files.path
    and (counts.loaded, counts.skipped, counts.quarantined) <> (files.loaded, files.skipped, files.quarantined)
