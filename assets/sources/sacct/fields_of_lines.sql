{# The fields of attempts under one header by place: from attempts on a single line, and from `sacct_repaired`.
-#}
select file_id, line_number, has_bad_bytes, {{ places }}
from (
    select file_id, line_number, {{ fields }} as f, contains(line, {{ replacement | literal }}) as has_bad_bytes
    from {{ table }} anti join sacct_aside using (file_id, line_number) where {{ under }}
    union all
    select file_id, line_number, f, contains(f::varchar, {{ replacement | literal }}) as has_bad_bytes
    from sacct_repaired where layout_id = {{ layout_id }}
)
