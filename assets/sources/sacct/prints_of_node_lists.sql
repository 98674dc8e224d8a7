{% import "sources/sacct/macros.sql" as m %}
select text_nodelist, count(*), max({{ m.count_of("text_nnodes") }})
from sacct_texts
where text_nodelist in (select unnest(getvariable('sacct_large_lists'))) and left_out is null
group by text_nodelist
