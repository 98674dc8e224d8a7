"""What the logs could have shown: on which days which nodes were seen by which kind, and which logs are blind.

A line is understood when its time and host were read, whether or not it matters. Of most lines of a log nothing else is
looked at, so a sample stands for them. A log is blind where fewer than half of its lines are understood: it covers
nothing, and no node is seen in it.
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from assets.log_kinds import export_again
from assets.sources.batch_tables import SAMPLED_LINES
from assets.sources.intake.find.folder import CUT_OFF, READ
from assets.sources.reader import Reader

BLIND = "blind"
"""What `ops.files.status` says of such a log."""

SAMPLED_KINDS = ("kernel", "slurmctld")
"""Kinds whose readers look at few of their lines."""

SHOWS_NODES = {"health_checks": "observed_at", "kernel_messages": "occurred_at"}
"""Tables whose rows come from the nodes they name, and their time. A controller tells of nodes out of its reach too."""

CHANCE = 0.05
"""A node is silent for so long by chance no more often than this; then its log is missing."""

# The golden ratio of 2^32 spreads line numbers evenly, and unlike a fixed step it does not fall in with a pattern of
# the lines. What is sampled depends on the number of a line alone, so that a file may be read on from where it grew.
_SPREAD = "((line_number + lines_before) * 2654435769) % 4294967296"
_WEIGHT = """
    case
        when line_number + lines_before <= 64 then 1
        when line_number + lines_before <= 1024 then 16
        else 128
    end"""


def sample_lines(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Fill `sampled_lines`: the first 64 lines of a file, every 16th up to line 1,024, every 128th behind it."""
    if reader.KIND not in SAMPLED_KINDS:
        SAMPLED_LINES.create(con)
        return
    SAMPLED_LINES.create_from(
        con,
        f"""
        select file_id, line_number, line, if(spread * weight < 4294967296, weight, 0) as weight
        from (
            select
                lines.file_id, line_number, line, {_SPREAD} as spread, {_WEIGHT} as weight,
                line_number + lines_before <= 2 or line_number > last_line - 2 as is_edge
            from lines
            inner join file_lines on file_lines.file_id = lines.file_id
            inner join batch_files on batch_files.file_id = lines.file_id
            where line is not null
        )
        where is_edge or spread * weight < 4294967296
        """,
    )


def note_sightings(con: duckdb.DuckDBPyConnection, reader: Reader, *, is_read_on: bool) -> None:
    """Keep in `raw.sightings` on which days a file that is accounted for tells of which hosts."""
    seen_at = SHOWS_NODES.get(reader.TABLE)
    if seen_at is None:
        return
    # A check that could not run has seen nothing.
    which = "result_quality = 'ran'" if reader.KIND == "health" else "true"
    known = "anti join raw.sightings using (cluster_id, path, node_name, day_date)" if is_read_on else ""
    con.execute(
        f"""
        insert into raw.sightings by name
        from (
            select batch_files.cluster_id, batch_files.path, node_name, {seen_at}::date as day_date
            from raw.{reader.TABLE} as kept
            inner join batch_files on batch_files.path = kept.path and batch_files.cluster_id = kept.cluster_id
            where {which}
            union
            select batch_files.cluster_id, batch_files.path, node_name, stated_at::date
            from stated_times
            inner join batch_files using (file_id)
            left join sampled_lines using (file_id, line_number)
            where node_name is not null and coalesce(weight > 0, '{reader.KIND}' not in {SAMPLED_KINDS})
        ) {known}
        """
    )


def mark_blind_files(con: duckdb.DuckDBPyConnection, reader: Reader, blind: Sequence[tuple[int, str]]) -> None:
    """Say in `ops.files` that files are blind; such a file is always read whole."""
    for file_id, reason in blind:
        con.execute(
            """
            update ops.files set status = $status, reason = $reason, next_step = $next_step
            from batch_files
            where batch_files.file_id = $file_id
                and batch_files.cluster_id = files.cluster_id and batch_files.path = files.path
            """,
            {"status": BLIND, "reason": reason, "next_step": f"{export_again(reader.KIND)}.", "file_id": file_id},
        )
        con.execute(
            """
            delete from ops.resume_points using batch_files
            where batch_files.file_id = $file_id
                and batch_files.cluster_id = resume_points.cluster_id and batch_files.path = resume_points.path
            """,
            {"file_id": file_id},
        )


def blind_files(con: duckdb.DuckDBPyConnection, reader: Reader) -> list[tuple[int, str]]:
    """Give the files of a batch, all accounted for, that are blind, with the reason."""
    if reader.KIND in SAMPLED_KINDS:
        has_host = "true" if reader.KIND == "slurmctld" else "node_name is not null"
        judged = f"""
            select file_id, sum(weight) as line_count, sum(weight) filter (is_understood) as understood_count
            from (
                select sampled_lines.*, understood.file_id is not null as is_understood
                from sampled_lines
                left join (
                    select file_id, line_number from stated_times where {has_host}
                    union
                    from loaded_lines
                ) as understood using (file_id, line_number)
                where weight > 0
            )
            group by file_id
        """
    elif reader.TABLE in SHOWS_NODES:
        # What a check says in words stands beside the record that says the same. Words alone tell of no node.
        judged = """
            select
                file_id,
                any_value(if(understood_count = 0, lines_in, understood_count + bad_count)) as line_count,
                any_value(understood_count) as understood_count
            from (
                select file_id, sum(understood_count) as understood_count, sum(bad_count) as bad_count
                from (
                    select file_id, 0 as understood_count, 0 as bad_count from file_lines
                    union all
                    select file_id, count(*), 0 from loaded_lines group by file_id
                    union all
                    select file_id, line_count, 0 from skip_counts where reason = 'unchanged'
                    union all
                    select file_id, count(*), 0 from stated_times group by file_id
                    union all
                    select file_id, 0, count(*) from all_quarantined group by file_id
                )
                group by file_id
            )
            inner join file_lines using (file_id)
            group by file_id
        """
    else:
        return []
    return con.execute(
        f"""
        select
            file_id,
            format(
                'blind: time and host were read of {{}}{{:,}} of {{:,}} lines',
                if(line_count > 64, 'about ', ''), coalesce(understood_count, 0)::bigint, line_count::bigint
            )
        from ({judged})
        where coalesce(understood_count, 0) < line_count / 2
        """
    ).fetchall()


def write_sight(con: duckdb.DuckDBPyConnection) -> int:
    """Replace `ops.sight` by what the files that are loaded could have shown, and return the number of its rows.

    A node is seen from its first to its last line in a file. Files follow each other, so it is seen from one to the
    next, and to the ends of what its kind covers, where its kind covers that time and chance makes a node that speaks
    as often silent for so long. A log of nothing but symptoms is a selection from the logs of all nodes. The
    controller's log and node events tell of all nodes. The transaction is the caller's.
    """
    con.execute("delete from ops.sight")
    ((rows,),) = con.execute(_SIGHT).fetchall()
    return int(rows)


# The n days on which a node spoke are the share p of those outside a silence of g days. By chance such a node has one
# so long with a probability of at most n (1 - p)^g.
_IS_CHANCE = f"""
    (
        silent_days <= 0
        or day_count * power(1 - least(day_count, span_days - silent_days) / (span_days - silent_days + 1), silent_days)
            > {CHANCE}
    )"""

_SIGHT = f"""
    insert into ops.sight by name
    with covered_days as (
        select distinct
            cluster_id,
            kind,
            unnest(generate_series(
                from_at::date, if(known_by = 'log', to_at, to_at - interval 1 second)::date, interval 1 day
            ))::date as day_date
        from ops.spans
        where kind in ('health', 'kernel', 'events', 'slurmctld')
    ),

    nodes as (select distinct cluster_id, node_id from raw.node_names),

    named as (
        select cluster_id, name_as_seen, node_id, date '0001-01-01' as from_date, date '9999-12-31' as to_date
        from raw.node_names
        union all
        select cluster_id, name_as_seen, node_id, from_at::date, to_at::date from raw.host_names
    ),

    files as (
        select files.cluster_id, files.kind, files.path, stated.from_at, stated.to_at
        from ops.files
        left join raw.manifests as stated
            on stated.cluster_id = files.cluster_id and stated.log_path = files.path and stated.disposition = 'loaded'
                and files.status = '{READ}'
        where files.kind in ('health', 'kernel') and files.status in ('{READ}', '{CUT_OFF}')
    ),

    sightings as (
        select
            sightings.cluster_id, files.kind, files.path, named.node_id,
            (sightings.day_date - to_years(coalesce(years_back, 0)))::date as day_date
        from raw.sightings
        inner join files using (cluster_id, path)
        left join ops.years using (cluster_id, path)
        inner join named
            on named.cluster_id = sightings.cluster_id and named.name_as_seen = sightings.node_name
            and (sightings.day_date - to_years(coalesce(years_back, 0)))::date between named.from_date and named.to_date
    ),

    selections as (
        select cluster_id, path, kind
        from sightings
        anti join (from ops.skips where reason in ('not_relevant', 'untrusted_source')) as skips
            using (cluster_id, path)
        where kind = 'kernel'
        group by all
        having count(distinct node_id) > 1 or not bool_or(contains(lower(path), node_id))
    ),

    in_files as (
        select
            cluster_id, kind, node_id, path,
            min(day_date) as first_date, max(day_date) as last_date, count(*) as day_count
        from (
            select cluster_id, kind, path, node_id, day_date from sightings
            union all
            select cluster_id, kind, path, nodes.node_id, day_date
            from (
                select distinct cluster_id, kind, path, day_date
                from sightings semi join selections using (cluster_id, path)
            )
            inner join nodes using (cluster_id)
        )
        group by all
    ),

    stated as (
        select
            in_files.cluster_id,
            in_files.kind,
            in_files.node_id,
            least(first_date, from_at::date) as first_date,
            greatest(last_date, (to_at - interval 1 second)::date) as last_date,
            day_count
        from in_files
        inner join files using (cluster_id, path)
    ),

    ordered as (
        select
            *,
            sum(day_count) over of_node as day_count_of_node,
            max(last_date) over (
                of_node order by first_date, last_date rows between unbounded preceding and 1 preceding
            ) as before_date
        from stated
        window of_node as (partition by cluster_id, kind, node_id)
    ),

    spans as (
        select cluster_id, kind, min(day_date) as from_date, max(day_date) as to_date
        from covered_days
        group by all
    ),

    judged as (
        select *, {_IS_CHANCE} as is_chance
        from (
            select
                ordered.* exclude (day_count) rename (day_count_of_node as day_count),
                spans.from_date,
                spans.to_date,
                spans.to_date - spans.from_date + 1 as span_days,
                first_date - before_date - 1 as silent_days
            from ordered
            inner join spans using (cluster_id, kind)
        )
    ),

    numbered as (
        select *, sum((not coalesce(is_chance, true))::integer) over (
            partition by cluster_id, kind, node_id order by first_date, last_date
        ) as stretch
        from judged
    ),

    stretches as (
        select
            *,
            stretch = min(stretch) over of_node as is_first,
            stretch = max(stretch) over of_node as is_last
        from (
            select
                cluster_id, kind, node_id, day_count, span_days, from_date, to_date, stretch,
                min(first_date) as first_date, max(last_date) as last_date
            from numbered
            group by all
        )
        window of_node as (partition by cluster_id, kind, node_id)
    ),

    opened as (
        select * replace (if(is_first and {_IS_CHANCE}, least(first_date, from_date), first_date) as first_date)
        from (select *, first_date - from_date as silent_days from stretches)
    ),

    closed as (
        select * replace (if(is_last and {_IS_CHANCE}, greatest(last_date, to_date), last_date) as last_date)
        from (select * replace (to_date - last_date as silent_days) from opened)
    ),

    node_days as (
        select
            cluster_id, node_id, kind, unnest(generate_series(first_date, last_date, interval 1 day))::date as day_date
        from closed
    )

    select cluster_id, node_id, kind, day_date from node_days semi join covered_days using (cluster_id, kind, day_date)
    union all
    -- What a file tells of is seen, also where another file of its kind is missing.
    select cluster_id, node_id, kind, day_date
    from (from node_days anti join covered_days using (cluster_id, kind, day_date)) as others
    semi join stated
        on
            stated.cluster_id = others.cluster_id and stated.kind = others.kind and stated.node_id = others.node_id
            and others.day_date between stated.first_date and stated.last_date
    anti join (from ops.spans where known_by = 'cluster.toml') as declared
        on declared.cluster_id = others.cluster_id and declared.kind = others.kind
    union all
    select cluster_id, node_id, kind, day_date
    from nodes
    inner join covered_days using (cluster_id)
    where kind in ('events', 'slurmctld')
"""
