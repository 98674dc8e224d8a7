"""Mark files of which too many lines were not understood: most likely they are not logs of this kind.

Their rows stay loaded. A doubtful accounting file makes the cluster incomplete; another log then covers nothing.
"""

from __future__ import annotations

import duckdb

from assets.sources.intake.find.folder import READ

DOUBTFUL = "doubtful"
"""What `ops.files.status` says of such a file."""

# No signs of a misread format: a node that is not in the inventory, a last line cut off by a running writer, what a
# machine logged before its clock was set, and bytes that are no text.
_EXCUSED = "'unknown_node', 'truncated_record', 'no_event_time', 'not_text'"
_NOT_DATA = "'header', 'blank', 'comment', 'step', 'pending_array'"

JUDGED = f"""
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
        where reason not in ({_EXCUSED})
        group by all
    ),

    not_data as (
        select cluster_id, path, sum(line_count) as line_count
        from ops.skips
        where reason in ({_NOT_DATA})
        group by all
    ),

    judged as (
        select
            files.cluster_id,
            files.path,
            bad.line_count as bad_count,
            bad.first_line,
            files.lines_in - coalesce(not_data.line_count, 0) as data_count,
            coalesce(clusters.quarantine_max_share, 0.01) as max_share
        from ops.files
        inner join bad using (cluster_id, path)
        left join not_data using (cluster_id, path)
        left join raw.clusters as clusters using (cluster_id)
    )

    select
        cluster_id,
        path,
        concat(
            bad_count, ' of ', data_count, ' lines quarantined (',
            round(100 * bad_count / greatest(data_count, 1), 1), '% > ', round(100 * max_share, 2), '%), first: ',
            first_line
        ) as reason
    from judged
    where bad_count > greatest(1, max_share * data_count)
"""


def mark_doubtful_files(con: duckdb.DuckDBPyConnection) -> None:
    """Set in `ops.files` whether each file can be trusted, by the share of its lines that is quarantined.

    The transaction is the caller's.
    """
    con.execute(f"update ops.files set status = '{READ}', reason = null, next_step = null where status = '{DOUBTFUL}'")
    con.execute(
        f"""
        update ops.files set
            status = '{DOUBTFUL}', reason = judged.reason,
            next_step = 'Look at ops.quarantine; raise [quarantine] max_share in cluster.toml if that is right.'
        from ({JUDGED}) as judged
        where judged.cluster_id = files.cluster_id and judged.path = files.path and files.status = '{READ}'
        """
    )
