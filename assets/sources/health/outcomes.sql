{% import "sources/health/macros.sql" as health %}
-- Setting a clock may swap start and end. The result and its end are kept, the duration is lost.
update health_results set started_at = observed_at
where started_at > observed_at and started_at <= observed_at + interval {{ noise_seconds }} second;

update health_results set
    problem = case when started_at > observed_at then 'end_before_start' else 'implausible_time' end,
    problem_detail = concat(started_at, ' to ', observed_at, ' (UTC)')
from batch_files
where batch_files.file_id = health_results.file_id
    and problem is null
    and skip_reason is null
    and (started_at > observed_at or {{ end_is_implausible }} or {{ start_is_implausible }});

-- A line with several results has one outcome: it is kept whole, or quarantined whole if one result is bad.
create or replace temp table health_unchanged_days as
{% call health.unchanged_days("file_id", subjects, counts_each) %}
health_results where stands_alone and skip_reason is null and problem is null
{% endcall %};

create or replace temp table health_unchanged as
select results.file_id, results.line_number
from health_results as results
inner join health_unchanged_days as days on days.file_id = results.file_id and {{ health.is_of_day }}
where stands_alone and skip_reason is null and problem is null and {{ health.is_inside_day }};

create or replace temp table health_bad_lines as
select file_id, line_number, min(problem) as reason, min(problem_detail) as detail
from health_results
where problem is not null
group by file_id, line_number
