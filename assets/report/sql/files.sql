-- Every input file with its line counts. One row per file.
select
    cluster_id, path, sha256, kind, dialect, lines_in, loaded, skipped, quarantined, run_id, size_bytes,
    is_partial, warnings
from ops.files
order by cluster_id, kind, path
