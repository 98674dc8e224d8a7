-- Every distinct text gets its shape, and what is shown of it.
create or replace temp table unknown_shapes as
with texts as (
    -- What the limit cuts in two may be half a secret, which no rule knows.
    select
        message,
        case
            when length(message) > {{ max_masked }}
            then regexp_replace(left(message, {{ max_masked }}), '\S+$', '')
            else message
        end as bounded
    from (select distinct message from temp.unknown_lines)
),
masked as (select message, {{ masked }} as text from texts),
shaped as (
    select
        message, {{ shape_of_text }} as shape,
        if(length(text) > {{ max_characters }}, left(text, {{ max_characters }}) || '...', text) as example
    from masked
)
select message, {{ shape }} as shape, {{ example }} as example from shaped;

-- The rows of earlier lines are counted again with those that came behind them.
create or replace temp table unknown_counted as
with found as (
    select
        files.cluster_id, files.path, lines.line_number + files.lines_before as line_number,
        split_part(files.path, '/', 2) as kind, lines.node_name, lines.seen_at as first_at, lines.seen_at as last_at,
        lines.has_no_year, shapes.shape, 1 as line_count, shapes.example
    from temp.unknown_lines as lines
    inner join batch_files as files on files.file_id = lines.file_id
    inner join unknown_shapes as shapes on shapes.message = lines.message
    union all by name
    select
        earlier.* exclude (disposition, node_id, duration_seconds, dated_by_file_at),
        earlier.first_at + to_seconds(earlier.duration_seconds) as last_at,
        earlier.dated_by_file_at is not null as has_no_year
    from raw.unknown_lines as earlier
    semi join batch_files as files on files.cluster_id = earlier.cluster_id and files.path = earlier.path
)
select
    cluster_id, path, kind, shape, node_name, has_no_year, min(line_number) as line_number, min(first_at) as first_at,
    max(last_at) as last_at, sum(line_count)::bigint as line_count, arg_min(example, line_number) as example
from (
    select found.*, coalesce(found.line_number >= points.line_number, false) as is_read_again
    from found
    left join ops.resume_points as points on points.cluster_id = found.cluster_id and points.path = found.path
)
group by
    cluster_id, path, kind, shape, node_name, has_no_year,
    time_bucket(interval {{ bin_minutes }} minutes, first_at), is_read_again;

delete from ops.resume_points where (cluster_id, path) in (
    select (cluster_id, path) from unknown_counted
    group by cluster_id, path having count(distinct shape) > {{ max_shapes }}
);

delete from raw.unknown_lines where (cluster_id, path) in (select (cluster_id, path) from batch_files);

insert into raw.unknown_lines by name
with ranked as (
    select cluster_id, path, shape
    from unknown_counted
    group by cluster_id, path, shape
    qualify row_number() over (partition by cluster_id, path order by sum(line_count) desc, shape) <= {{ max_shapes }}
)
select
    counted.* exclude (last_at, has_no_year) replace (
        case
            when row_number() over (
                partition by counted.cluster_id, counted.path, counted.shape
                order by counted.line_number, counted.node_name
            ) = 1 then counted.example
        end as example
    ),
    'loaded' as disposition,
    (epoch_us(counted.last_at) - epoch_us(counted.first_at)) / 1e6 as duration_seconds,
    case when counted.has_no_year then counted.first_at end as dated_by_file_at
from unknown_counted as counted
semi join ranked
    on ranked.cluster_id = counted.cluster_id and ranked.path = counted.path and ranked.shape = counted.shape
