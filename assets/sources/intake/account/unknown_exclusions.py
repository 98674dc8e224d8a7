"""Count the nodes that submit lines exclude and that nothing names as nodes of the cluster.

Excluding a drained node is normal, and a node that was drained all the time ran no job. The record of such a job
counts, so its line cannot be quarantined as that of another log is. The warning of its file says which nodes are left
out of the exclusions.
"""

from __future__ import annotations

import duckdb

WARNING = "unknown_excluded_nodes"
"""Beside the files with such records, in `ops.files.warnings`; after a colon how many nodes, and which."""

MAX_NAMES = 5
"""How many of the names the warning holds: submit lines may exclude thousands."""

_IS_OURS = f"split_part(warning, ':', 1) = '{WARNING}'"
# Lists repeat: they are looked at once, and only those with an unknown name are looked for in files.
_WARNINGS = f"""
    create or replace temp table warnings_of_exclusions as
    with lists as (
        select distinct cluster_id, path, excluded_node_ids
        from raw.sacct
        where disposition = 'loaded' and len(excluded_node_ids) > 0
    ),
    unknown as (
        select cluster_id, excluded_node_ids, node_id
        from (
            select cluster_id, excluded_node_ids, unnest(excluded_node_ids) as node_id
            from (select distinct cluster_id, excluded_node_ids from lists)
        )
        anti join raw.node_names using (cluster_id, node_id)
    ),
    of_files as (
        select cluster_id, path, list(distinct node_id order by node_id) as node_ids
        from lists inner join unknown using (cluster_id, excluded_node_ids)
        group by cluster_id, path
    )
    select
        cluster_id,
        path,
        concat(
            '{WARNING}: ', len(node_ids), ' (', array_to_string(node_ids[:{MAX_NAMES}], ', '),
            if(len(node_ids) > {MAX_NAMES}, ', ...)', ')')
        ) as warning
    from of_files
"""
_WARN = f"""
    update ops.files
    set warnings = told.warnings
    from (
        select
            files.cluster_id,
            files.path,
            list_sort(
                list_filter(files.warnings, lambda warning: not {_IS_OURS})
                || if(found.warning is null, [], [found.warning])
            ) as warnings
        from ops.files left join warnings_of_exclusions as found using (cluster_id, path)
        where files.kind = 'sacct'
    ) as told
    where told.cluster_id = files.cluster_id and told.path = files.path and told.warnings <> list_sort(files.warnings)
"""


def warn_of_unknown_exclusions(con: duckdb.DuckDBPyConnection) -> None:
    """Set, change or remove the warning of every accounting file, by all records and names."""
    con.execute(_WARNINGS)
    con.execute(_WARN)
