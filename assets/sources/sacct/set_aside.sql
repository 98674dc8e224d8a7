{# Lines under one header that are not attempts or have another number of fields. -#}
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

-- DuckDB would push a condition on the reason down to the lines, and split each line again per mention.
reasons as (
    select file_id, line_number, unnest(case when reason is not null then [reason] end) as reason from judged
)

select *, {{ layout_id }} from reasons anti join sacct_headers using (file_id, line_number)
