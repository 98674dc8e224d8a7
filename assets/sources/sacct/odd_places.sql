{# A separate table: DuckDB knows that it is small, and streams the millions of lines on the other side of the join. -#}
create or replace temp table sacct_odd_places as
select
    odd.file_id, odd.line_number, odd.layout_id,
    odd.line_number > 1 and before.file_id is null as follows_record
from sacct_aside as odd
left join (from sacct_aside where reason in ('odd', 'header')) as before
    on before.file_id = odd.file_id and before.line_number = odd.line_number - 1
where odd.reason = 'odd'
