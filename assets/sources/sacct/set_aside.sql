{# Lines under one header that are no attempts, or whose number of fields is another. -#}
insert into sacct_aside
with judged as (
    select
        file_id, line_number,
        case
            when line is null or f is null or field_count <> {{ column_count }} then 'odd'
            else {{ outcome }}
        end as reason
    from (
        select file_id, line_number, line, f, len(f) as field_count, {{ places }}
        from (select file_id, line_number, line, {{ fields }} as f from {{ table }} where layout_id = {{ layout_id }})
    )
),

-- A condition on the reason would be moved down to the lines, and split each of them once more per mention.
reasons as (
    select file_id, line_number, unnest(case when reason is not null then [reason] end) as reason from judged
)

select *, {{ layout_id }} from reasons anti join sacct_headers using (file_id, line_number)
