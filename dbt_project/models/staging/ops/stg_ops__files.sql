with

files as (

    select * from {{ source_table('ops', 'files') }}
    where kind != 'manifest'

)

select
    cluster_id,
    path,
    kind,
    dialect,
    lines_in as line_count,
    loaded as loaded_count,
    skipped as skipped_count,
    quarantined as quarantined_count,
    first_at,
    last_at,
    status,
    reason,
    is_present,
    version_of,
    run_id
from files
