create or replace temp table slurmctld_problems as
with judged as (
    select
        parsed.file_id,
        parsed.line_number,
        parsed.logged_at,
        case
            when parsed.logged_at is null then 'bad_timestamp'
            when {{ is_implausible }} then 'implausible_time'
            when lists.problem is not null then lists.problem
            when parsed.kind = 'preempted' and (
                parsed.job_id_raw is null
                or coalesce(parsed.instigator_job_id_raw, parsed.instigator_array_job_id) is null
                or parsed.job_id_raw = parsed.instigator_job_id_raw
            ) then 'bad_job_id'
        end as found_problem,
        lists.problem_detail
    from slurmctld_parsed as parsed
    inner join batch_files on batch_files.file_id = parsed.file_id
    left join slurmctld_node_lists as lists on lists.node_list = parsed.node_list
)
select
    file_id,
    line_number,
    found_problem as reason,
    case found_problem
        when 'bad_timestamp' then 'no such date'
        when 'implausible_time' then logged_at || ' (UTC)'
        when 'bad_job_id' then 'it does not name two jobs'
        else problem_detail
    end as detail
from judged
where found_problem is not null;

create or replace temp view slurmctld_others_by_node as
select others.*, unnest(coalesce(nullif(lists.node_names, []), [null])) as node_name
from slurmctld_others as others
left join slurmctld_node_lists as lists on lists.node_list = others.node_list;

insert into stated_times
select file_id, line_number, null as node_name, logged_at, has_no_year
from slurmctld_lines inner join batch_files using (file_id)
where not {{ is_implausible }};

insert into unknown_lines by name
select file_id, line_number, node_name, logged_at as seen_at, has_no_year, message
from slurmctld_others_by_node
where rule_pattern is null
