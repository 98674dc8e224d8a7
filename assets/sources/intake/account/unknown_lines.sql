-- Give every distinct text its shape, and its shown form.
create or replace temp table unknown_shapes as
with texts as (
    -- Drop a word that the limit cuts: it may be half a secret, which no masking rule matches.
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

create or replace temp table unknown_counted as
select
    files.cluster_id, files.path, split_part(files.path, '/', 2) as kind, shapes.shape, lines.node_name,
    lines.has_no_year, min(lines.line_number) as line_number, min(lines.seen_at) as first_at,
    max(lines.seen_at) as last_at, count(*) as line_count, arg_min(shapes.example, lines.line_number) as example
from temp.unknown_lines as lines
inner join batch_files as files on files.file_id = lines.file_id
inner join unknown_shapes as shapes on shapes.message = lines.message
group by
    files.cluster_id, files.path, shapes.shape, lines.node_name, lines.has_no_year,
    time_bucket(interval {{ bin_minutes }} minutes, lines.seen_at);

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
