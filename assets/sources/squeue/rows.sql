-- Few jobs exclude nodes; the others need no further work.
create or replace temp table squeue_excluding as
select
    squeue_fields.file_id,
    squeue_fields.line_number,
    names,
    fields,
    {{ node_list }} as node_list
from squeue_fields
join batch_files on batch_files.file_id = squeue_fields.file_id and batch_files.dialect = 'squeue_delimited'
where names is not null
    and (fields is null or lower({{ node_list }}) not in ('(null)', 'n/a', 'none'));

-- The first column named JOBID that is a number is the job's own id: `%A`, or `%i` of a job that is not an array task.
-- Require digits, as a cast reads `25_4` as 254.
create or replace temp table squeue_rows as
with labelled as (
    select
        file_id,
        line_number,
        fields is null as is_cut,
        coalesce(
            list_filter(
                list_transform(
                    list_filter(list_zip(names, fields), lambda pair: pair[1] = 'jobid'),
                    lambda pair: try_cast(nullif(regexp_extract(trim(pair[2]), '^\d+$'), '') as bigint)
                ),
                lambda job: job is not null
            )[1],
            try_cast(nullif(regexp_extract(fields[list_position(names, 'jobid')], '^ *(\d+)', 1), '') as bigint)
        ) as job_id_raw,
        node_list,
        null::timestamp as collected_at
    from squeue_excluding
),
unlabelled as (
    select
        lines.file_id,
        lines.line_number,
        len(string_split(lines.line, '|')) < 11 as is_cut,
        try_cast(nullif(regexp_extract(lines.line, '^(\d+)\|', 1), '') as bigint) as job_id_raw,
        nullif(trim(string_split(lines.line, '|')[10]), '') as node_list,
        null::timestamp as collected_at
    from lines
    join batch_files on batch_files.file_id = lines.file_id and batch_files.dialect = 'squeue_unlabelled'
    where lines.line is not null
        and not regexp_matches(lines.line, {{ header | literal }})
)
select * from labelled
union all
select * from unlabelled where is_cut or lower(node_list) not in ('(null)', 'n/a', 'none')
