-- Files and lines that were read, and files that are refused, blind, removed or older versions.
select
    count(*) as file_count,
    coalesce(sum(lines_in), 0)::bigint as lines_in,
    coalesce(sum(loaded), 0)::bigint as loaded,
    coalesce(sum(skipped), 0)::bigint as skipped,
    coalesce(sum(quarantined), 0)::bigint as quarantined,
    count(*) filter (status = 'refused') as refused_count,
    count(*) filter (status = 'blind') as blind_count,
    count(*) filter (
        not is_present and version_of is null
    ) as vanished_count,
    count(*) filter (version_of is not null) as version_count
from ops.files
