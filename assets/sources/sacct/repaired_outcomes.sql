{# Some repaired records are not attempts. -#}
update sacct_aside set reason = outcomes.outcome
from (
    select file_id, line_number, layout_id, {{ outcome }} as outcome
    from (select *, {{ places }} from sacct_repaired)
) as outcomes
where outcomes.file_id = sacct_aside.file_id and outcomes.line_number = sacct_aside.line_number
    and outcomes.layout_id = {{ layout_id }} and outcomes.outcome is not null
